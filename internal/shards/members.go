package shards

import (
	"gossiptrainer/topology"
)

// Of returns the data of some members of a run that machines join and leave, by rank in this order. Where each has
// files of its own and all are on this machine, the id of a member names its files. Members share all other data.
func Of(d *Dataset, ids ...topology.Rank) (*Dataset, error) {
	if d == nil || !d.local {
		return d, nil
	}
	own := *d
	own.cfg.Topology.Size, own.cut, own.whole = len(ids), nil, nil
	if d.cfg.Data.PerRank() {
		all, err := openData(d.cfg, d.trained, append([]topology.Rank{0}, ids...)) // the first one says the form of all
		if err != nil {
			return nil, err
		}
		own.sources = all[1:]
		for _, source := range own.sources {
			if err := checkShards(own.cfg, source.Info); err != nil {
				return nil, err
			}
		}
	}
	own.prepare()
	return &own, nil
}
