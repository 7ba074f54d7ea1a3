package models

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gossiptrainer/internal/human"
)

// A ClassScore is how a model does on the test rows of a class.
type ClassScore struct {
	Class    string         `json:"class"`
	Rows     int            `json:"rows"`
	Accuracy float64        `json:"accuracy"` // 0 without rows
	Taken    map[string]int `json:"taken"`    // rows by the class that the model says, only those above 0
}

// mistaken returns the other class that most rows are taken for, "" if none is.
func (c ClassScore) mistaken() (class string, rows int) {
	for other, n := range c.Taken {
		if other != c.Class && (n > rows || n == rows && other < class) {
			class, rows = other, n
		}
	}
	return class, rows
}

func classScores(names []string, counts [][]int) []ClassScore {
	all := make([]ClassScore, len(names))
	for i, row := range counts {
		c := ClassScore{Class: names[i], Taken: map[string]int{}}
		for j, n := range row {
			c.Rows += n
			if n > 0 {
				c.Taken[names[j]] = n
			}
		}
		if c.Rows > 0 {
			c.Accuracy = float64(row[i]) / float64(c.Rows)
		}
		all[i] = c
	}
	return all
}

// mostClasses is how many classes a table shows at most.
const mostClasses = 20

// writeClasses prints a table of the classes: those that the model does worst where there are many.
func writeClasses(w io.Writer, all []ClassScore) error {
	if len(all) == 0 {
		return nil
	}
	shown := all
	if len(shown) > mostClasses {
		shown = slices.DeleteFunc(slices.Clone(shown), func(c ClassScore) bool { return c.Rows == 0 })
		slices.SortStableFunc(shown, func(a, b ClassScore) int { return cmp.Compare(a.Accuracy, b.Accuracy) })
		shown = shown[:min(len(shown), mostClasses)]
		fmt.Fprintf(w, "the %d least accurate of %d classes:\n", len(shown), len(all))
	}
	t := human.Table{Columns: []human.Column{{Title: "CLASS", Left: true}, {Title: "ROWS"}, {Title: "ACCURACY"},
		{Title: "MOST OFTEN TAKEN FOR", Left: true}}}
	for _, c := range shown {
		other, n := c.mistaken()
		if n > 0 {
			other = fmt.Sprintf("%s (%d)", other, n)
		}
		accuracy := "-"
		if c.Rows > 0 {
			accuracy = fmt.Sprintf("%.4f", c.Accuracy)
		}
		t.Rows = append(t.Rows, []string{c.Class, strconv.Itoa(c.Rows), accuracy, other})
	}
	return t.Text(w, 0)
}
