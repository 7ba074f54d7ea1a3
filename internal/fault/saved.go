package fault

import (
	"fmt"
	"time"
)

// A Saved is the state of a Play. It names faults by their places in the script.
type Saved struct {
	ByRound []int     `json:"by_round,omitempty"` // not begun yet, the last one first
	ByTime  []int     `json:"by_time,omitempty"`
	Active  []Lasting `json:"active,omitempty"`
}

// A Lasting is a fault that has begun and has not ended.
type Lasting struct {
	Number int           `json:"number"`
	Ends   time.Duration `json:"ends_ns"` // Never: it does not end
}

// Save returns the state of the play.
func (p *Play) Save() Saved {
	var s Saved
	for _, e := range p.byRound {
		s.ByRound = append(s.ByRound, e.number)
	}
	for _, e := range p.byTime {
		s.ByTime = append(s.ByTime, e.number)
	}
	for _, a := range p.active {
		s.Active = append(s.Active, Lasting{a.number, a.ends})
	}
	return s
}

// Restore returns the play of a script in a saved state. It fails if the script has no such faults.
func Restore(script []Fault, s Saved) (*Play, error) {
	p := &Play{}
	var err error
	find := func(number int) entry {
		if number < 0 || number >= len(script) {
			err = fmt.Errorf("fault: number %d of a script with %d faults", number, len(script))
			return entry{}
		}
		return entry{script[number], number}
	}
	for _, number := range s.ByRound {
		p.byRound = append(p.byRound, find(number))
	}
	for _, number := range s.ByTime {
		p.byTime = append(p.byTime, find(number))
	}
	for _, a := range s.Active {
		p.active = append(p.active, active{find(a.Number), a.Ends})
	}
	return p, err
}
