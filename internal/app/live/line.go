package live

import (
	"fmt"
	"strings"
	"time"
)

// Line says in one line how the run stands at time now, for logs and for
// programs: key=value, numbers in the units that the keys name.
func (b *Board) Line(now time.Time) string {
	m := b.Means()
	s := fmt.Sprintf("round=%d/%d", b.Round(), b.run.Rounds)
	if m.Peers > 0 {
		s += fmt.Sprintf(" loss=%.4g gap=%.2g out_mbit=%.1f", m.Loss, m.Gap, m.Out/1e6)
	}
	s += fmt.Sprintf(" peers=%d/%d", b.Present(), b.run.Peers)
	if t, what, ok := b.testing(); ok {
		s += fmt.Sprintf(" %s=%.2f", strings.ReplaceAll(what, " ", "_"), t.share)
	}
	if left, ok := b.left(now); ok {
		s += " eta=" + Clock(left)
	}
	return s
}
