// Package report sums up and draws the records of runs: tables, figures, the page of a
// comparison. It reads what package record has written; nothing in a run depends on it.
package report
