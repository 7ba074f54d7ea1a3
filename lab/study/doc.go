// Package study reads the cells of a comparison and writes its report: tables, figures, verdicts, caveats and the page.
package study
