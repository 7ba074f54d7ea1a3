package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/topology"
)

// Where each machine has files of its own and sees no others, the machines tell each other their rows when they meet.
// Until then a run takes the rows of this machine for those of all. WithRows gives the run that all train.

// Apart returns the training rows of this machine, and whether it sees only its own.
func (r *Run) Apart() (rows int, apart bool) {
	if r.data == nil {
		return 0, false
	}
	return r.data.apart()
}

// WithRows returns the run of machines that have these training rows, by rank. A list that the run states must be the
// same.
func (r *Run) WithRows(rows []int) (*Run, error) {
	if r.cfg.Data.Sizes.Law == "shares" {
		for rank, n := range rows {
			if err := r.data.checkStated(topology.Rank(rank), n); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	d, cfg := *r.data, r.cfg
	cfg.Data.Sizes.Law, cfg.Data.Sizes.Shares = "shares", make([]float64, len(rows))
	for rank, n := range rows {
		cfg.Data.Sizes.Shares[rank] = float64(n)
	}
	d.cfg, d.notes = cfg, nil
	d.prepare()
	return (&Run{cfg: cfg, method: r.method, data: &d}).assemble()
}

// PeerSections returns the settings that peers compare when they meet: Sections without what follows from the rows of
// machines that do not see each other's files.
func (r *Run) PeerSections() []configs.Section {
	if _, apart := r.Apart(); !apart {
		return r.Sections()
	}
	same := *r
	same.cfg.Data.Sizes = configs.Default().Data.Sizes
	if same.cfg.Train.Epochs > 0 {
		same.cfg.Train.Rounds = 0
	}
	return same.Sections()
}
