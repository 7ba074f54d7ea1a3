package views

import (
	"cmp"
	"fmt"
	"io"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// mostTold bounds the views that people see: the first one, and the last ones.
const mostTold = 20

// Write writes a line for each view, for people.
func Write(w io.Writer, views []record.Membership) error {
	left := len(views) - mostTold
	for i, v := range views {
		if left > 0 && i == 1 {
			if _, err := fmt.Fprintf(w, "... %s more ...\n", human.Count(left, "view")); err != nil {
				return err
			}
		}
		if i >= 1 && i <= left {
			continue
		}
		if _, err := fmt.Fprintf(w, "view %d from exchange %d: %s: %s\n", v.View, v.First,
			human.Count(len(v.Members), "member"), cmp.Or(v.Why, "the founders")); err != nil {
			return err
		}
	}
	return nil
}
