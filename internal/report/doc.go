// Package report sums up and draws the records of runs: tables, figures, the page of a comparison. It reads the records
// that package record writes. No run depends on it.
package report
