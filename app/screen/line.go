package screen

import (
	"fmt"
	"math"
	"strings"
	"time"

	"gossiptrainer/internal/human"
)

// Line describes the run at time now in one line, for logs and for programs: key=value, numbers in the units that the
// keys name.
func (d *Dashboard) Line(now time.Time) string {
	m := d.Means()
	s := "round=" + human.Fraction(d.Round(), d.run.Rounds)
	if m.Peers > 0 {
		if !math.IsNaN(m.Loss) {
			s += fmt.Sprintf(" loss=%.4g", m.Loss)
		}
		s += fmt.Sprintf(" gap=%.2g", m.Gap)
		if !math.IsNaN(m.Out) {
			s += fmt.Sprintf(" out_mbit=%.1f", m.Out/1e6)
		}
	}
	if d.run.Open {
		s += fmt.Sprintf(" members=%d", d.Present())
	} else {
		s += fmt.Sprintf(" peers=%d/%d", d.Present(), d.run.Peers)
	}
	if t, what, ok := d.testing(); ok {
		s += fmt.Sprintf(" %s=%.2f", strings.ReplaceAll(what, " ", "_"), t.share)
	}
	if left, ok := d.left(now); ok {
		s += " eta=" + human.Clock(left)
	}
	return s
}

// A Progress is the progress of a run, read from its line.
type Progress struct {
	Text  string  // for people: round 120/600
	Share float64 // of its rounds, 0 to 1
}

// ReadLine reads a line that Line has written; it returns false for other lines.
func ReadLine(line string) (s Progress, ok bool) {
	var round, rounds int
	if n, _ := fmt.Sscanf(line, "round=%d/%d", &round, &rounds); n != 2 || rounds <= 0 || round < 0 {
		return s, false
	}
	s = Progress{fmt.Sprintf("round %d/%d", round, rounds), min(1, float64(round)/float64(rounds))}
	for field := range strings.FieldsSeq(line) {
		var tested float64
		if _, share, found := strings.Cut(field, "tested="); found {
			if n, _ := fmt.Sscanf(share, "%f", &tested); n == 1 {
				s.Text += fmt.Sprintf(", tested %.0f %%", 100*tested)
			}
		}
	}
	return s, true
}
