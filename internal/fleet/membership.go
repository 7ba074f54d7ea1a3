package fleet

import (
	"fmt"

	"gossiptrainer/internal/fault"
)

// membership lets peers join, leave or die for good, as a fault says. Members have the ids that they report.
func (s *supervisor) membership(f fault.Fault) {
	switch f.Kind {
	case fault.Join:
		for range f.Count {
			s.procs = append(s.procs, &process{seat: seat{late: true}})
			s.start(len(s.procs) - 1)
		}
	case fault.Leave, fault.Die:
		id := int(f.First())
		for _, p := range s.procs {
			if p.seat.seated && p.seat.id == id && !p.done && !p.lost {
				s.part(p, f.Kind)
				return
			}
		}
		s.options.Log(id, fmt.Sprintf("member %d is not there: it does not %v", id, f.Kind))
		if s.options.Absent != nil {
			s.options.Absent(f)
		}
	}
}

// part sends a member the order to leave, or kills it.
func (s *supervisor) part(p *process, how fault.Kind) {
	if how == fault.Leave {
		p.orders <- order{Leave: true}
		return
	}
	p.lost, p.failed = true, true
	p.kill()
}
