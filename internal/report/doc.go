// Package report sums up and draws the records of runs as tables and figures. No run depends on it.
package report
