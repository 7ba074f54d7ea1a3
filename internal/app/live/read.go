package live

import (
	"fmt"
	"strings"
)

// A Standing is how far a run is, as its line says it.
type Standing struct {
	Text  string  // for people: round 120/600
	Share float64 // of its rounds, 0 to 1
}

// ReadLine reads what Line has written; false for other lines.
func ReadLine(line string) (s Standing, ok bool) {
	var round, rounds int
	if n, _ := fmt.Sscanf(line, "round=%d/%d", &round, &rounds); n != 2 || rounds <= 0 || round < 0 {
		return s, false
	}
	s = Standing{fmt.Sprintf("round %d/%d", round, rounds), min(1, float64(round)/float64(rounds))}
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
