package record

// A Merge puts the steps of workers, each of which reports its own, into the order of time, which Run.Progress also
// uses. It returns a step when no worker can report an earlier one. It does not wait for workers that are gone.
type Merge struct {
	waiting [][]Step // by rank, each in the order of time
	gone    []bool   // no step is expected from it until it reports again
}

// NewMerge returns a merge for some workers.
func NewMerge(workers int) *Merge {
	return &Merge{waiting: make([][]Step, workers), gone: make([]bool, workers)}
}

// See takes an event and returns the steps whose place in the order is now certain. It ignores ranks that the run does
// not have.
func (m *Merge) See(e Event) []Step {
	switch {
	case e.Step != nil && m.has(e.Step.Rank):
		m.gone[e.Step.Rank] = false
		m.waiting[e.Step.Rank] = append(m.waiting[e.Step.Rank], *e.Step)
	case e.Status != nil && m.has(e.Status.Rank) && (e.Status.State == Lost || e.Status.State == Returning):
		m.gone[e.Status.Rank] = true
	case e.Final != nil && m.has(e.Final.Rank):
		m.gone[e.Final.Rank] = true
	default:
		return nil
	}
	var certain []Step
	for rank := m.first(); rank >= 0; rank = m.first() {
		certain = append(certain, m.waiting[rank][0])
		m.waiting[rank] = m.waiting[rank][1:]
	}
	return certain
}

func (m *Merge) has(rank int) bool { return rank >= 0 && rank < len(m.waiting) }

// first returns the rank whose step is next, −1 while that is uncertain.
func (m *Merge) first() int {
	first := -1
	for rank, steps := range m.waiting {
		switch {
		case len(steps) == 0 && m.gone[rank]:
		case len(steps) == 0:
			return -1
		case first < 0 || steps[0].Time < m.waiting[first][0].Time:
			first = rank
		}
	}
	return first
}
