package experiment

import (
	"slices"

	"gossiptrainer/configs"
)

// Where each machine has files of its own and sees no others, the machines tell each other their rows when they meet.
// Until then a run takes the rows of this machine for those of all. WithRows gives the run that all train.

// WithRows returns the run of machines that have these training rows, by rank. A list that the run states must be the
// same.
func (r *Run) WithRows(rows []int) (*Run, error) {
	d, cfg, err := r.data.With(r.cfg, rows)
	switch {
	case err != nil:
		return nil, err
	case d == r.data:
		return r, nil
	}
	return (&Run{cfg: cfg, method: r.method, data: d}).assemble()
}

// PeerSections returns the settings that peers compare when they meet: Sections without what follows from the rows of
// machines that do not see each other's files, and without those to call where members come and go.
func (r *Run) PeerSections() []configs.Section {
	if r.cfg.Views() { // peers are those to call
		return slices.DeleteFunc(r.Sections(), func(s configs.Section) bool { return s.Name == "peers" })
	}
	if _, apart := r.data.Apart(); !apart {
		return r.Sections()
	}
	same := *r
	same.cfg.Data.Sizes = configs.Default().Data.Sizes
	if same.cfg.Train.Epochs > 0 {
		same.cfg.Train.Rounds = 0
	}
	return same.Sections()
}
