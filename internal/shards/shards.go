// Package shards reads the data of a run: one set that all workers share, cut into a shard for each, or files of each
// worker's own. It counts rows and classes, and checks what the files of all workers must share.
package shards

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

const floatBytes = 4

// A Dataset gives the shards and the test splits of a run. Each part is read when it is first asked for, and shards are
// not kept. A nil Dataset is that of an objective without data.
type Dataset struct {
	cfg       configs.Config
	trained   *data.Trained  // on what the model was trained before; nil for a new one
	sources   []*data.Source // of one form; one, or one per worker
	local     bool           // each worker trains on all rows of its own source
	partition func() (data.Partition, error)
	tests     []func() (data.Set, error) // one per source
	common    func() (data.Set, error)   // the test rows of all sources
	weights   func() ([]float64, error)  // of the workers in the objective
	notes     []string                   // for users, about the data
	warnings  []string

	whole *data.Set  // the train split, if it was read for its fingerprint and not yet cut
	cut   []data.Set // by worker, if the shards of all were read
}

// Find returns *data.MissingError if files of the data set are not there.
func (d *Dataset) Find() error {
	if d == nil {
		return nil
	}
	for _, s := range d.sources {
		if err := s.Find(); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the data set of a run file, nil for an objective without data. It reads samples only of the user's own
// files, because only these tell their shape. They are read as a trained model needs them; nil is a new model.
func Open(cfg configs.Config, trained *data.Trained) (*Dataset, error) {
	if !cfg.LearnsFromData() {
		return nil, nil
	}
	c := cfg.Data
	d := &Dataset{cfg: cfg, trained: trained, local: c.Partition == "local"}
	var err error
	var ranks []topology.Rank
	for rank := range cfg.Topology.Size {
		ranks = append(ranks, topology.Rank(rank))
	}
	if d.sources, err = openData(cfg, d.trained, ranks); err != nil {
		return nil, err
	}
	classes := d.sources[0].Info.Classes
	if c.Partition == "labels" && c.PerWorker > len(classes) {
		return nil, configs.Errorf("data.per_worker", "%s has %d labels, but data.per_worker asks for %d",
			c.Name, len(classes), c.PerWorker).
			With("data.name")
	}
	for _, source := range d.sources {
		if err := checkShards(cfg, source.Info); err != nil {
			return nil, err
		}
	}
	if err := d.checkUneven(); err != nil {
		return nil, err
	}
	if err := d.checkClasses(); err != nil {
		return nil, err
	}
	if err := checkPictures(cfg, d.sources[0].Info); err != nil {
		return nil, err
	}
	if _, ok := partitions[c.Partition]; !ok && !d.local {
		return nil, configs.Errorf("data.partition", "partition %q is not known", c.Partition)
	}
	if _, apart := d.Apart(); apart && c.Sizes.Law != "shares" && (cfg.Train.Epochs > 0 || c.Weighted()) {
		d.notes = append(d.notes, fmt.Sprintf("the rows of the other machines are not known before they meet: until then "+
			"each counts as having the %d to train on that this one has", d.sources[0].Info.Train))
	}
	d.prepare()
	return d, nil
}

// Apart returns the training rows of this machine, and whether it sees only its own.
func (d *Dataset) Apart() (rows int, apart bool) {
	if d == nil {
		return 0, false
	}
	return d.sources[0].Info.Train, d.local && len(d.sources) < d.cfg.Topology.Size
}

// prepare makes the parts that are read when they are first asked for.
func (d *Dataset) prepare() {
	cfg := d.cfg
	d.partition = sync.OnceValues(func() (data.Partition, error) {
		if d.local {
			return d.counts()
		}
		labels, err := d.sources[0].TrainLabels()
		if err != nil {
			return data.Partition{}, err
		}
		shares, err := sharesOf(cfg)
		if err != nil {
			return data.Partition{}, err
		}
		return partitions[cfg.Data.Partition](labels, shares, cfg)
	})
	d.weights, d.tests = sync.OnceValues(d.weigh), nil
	for _, s := range d.sources {
		test := s.Test
		if drawn(d) {
			test = drawnToTest
		}
		d.tests = append(d.tests, sync.OnceValues(test))
	}
	d.common = sync.OnceValues(d.allTests)
}

// Told returns what users should know of their data: notes, and warnings apart.
func (d *Dataset) Told() (quiet, loud []string) {
	if d == nil {
		return nil, nil
	}
	var all []data.Note
	for _, s := range d.sources {
		all = append(all, s.Notes...)
	}
	quiet, loud = data.Sentences(all)
	return append(quiet, d.notes...), append(loud, d.warnings...)
}

// openData opens the source that all workers share, or one per worker.
func openData(cfg configs.Config, trained *data.Trained, workers []topology.Rank) ([]*data.Source, error) {
	c := cfg.Data
	ranks := []configs.Data{c}
	if c.PerRank() {
		ranks = nil
		for _, rank := range workers {
			ranks = append(ranks, c.OfRank(int(rank)))
		}
	}
	if c.Name == "file" {
		specs := make([]data.FileSpec, len(ranks))
		for i, r := range ranks {
			specs[i] = FileSpec(r)
			specs[i].Trained = trained
		}
		return data.OpenFiles(specs)
	}
	dirs := make([]string, len(ranks))
	for i, r := range ranks {
		var err error
		if dirs[i], err = data.Root(r.Dir); err != nil && c.Name != builtIn {
			return nil, err
		}
	}
	if c.Name == "libsvm" {
		specs := make([]data.FileSpec, len(dirs))
		for i, dir := range dirs {
			var err error
			if specs[i], err = data.FolderSpec(dir); err != nil {
				return nil, err
			}
			specs[i].Indices, specs[i].Features = c.Indices, c.Dimension
			specs[i].Classes, specs[i].Trained = data.ClassNames(configs.Texts(c.Labels)), trained
		}
		return data.OpenFiles(specs)
	}
	source, err := data.Open(c.Name, dirs[0])
	if err == nil {
		err = source.AdoptTrained(trained)
	}
	return []*data.Source{source}, err
}

// FileSpec returns how the data set file of a run file is read.
func FileSpec(d configs.Data) data.FileSpec {
	return data.FileSpec{
		Path: d.Path, Test: d.Test, TestShare: d.TestShare,
		Columns: data.Columns{Label: string(d.Label), Features: configs.Texts(d.Features), Skip: configs.Texts(d.Skip),
			Header: d.Header, Missing: missing(d), Encode: d.Encode},
		Standardise: d.Standardise, Indices: d.Indices, Features: d.Dimension,
		Classes: data.ClassNames(configs.Texts(d.Labels)),
	}
}

// missing returns the texts that count as missing, nil for the usual ones.
func missing(d configs.Data) data.Absence {
	if len(d.Missing) == 0 {
		return nil
	}
	return configs.Texts(d.Missing)
}

// CheckTogether refuses to start all workers on this machine if each needs files of its own and the run file names one
// folder.
func (d *Dataset) CheckTogether() error {
	if d == nil || !d.local || len(d.sources) == d.cfg.Topology.Size {
		return nil
	}
	example := filepath.Join(d.cfg.Data.Dir, configs.RankPattern)
	if c := d.cfg.Data; c.Name == "file" {
		example = filepath.Join(filepath.Dir(c.Path), configs.RankPattern, filepath.Base(c.Path))
	}
	return configs.Errorf(d.cfg.Data.FolderKey(), "with data.partition: local each worker needs files of its own: "+
		"on one machine write %s for its rank, as in %s", configs.RankPattern, example).With("data.partition")
}

// of returns the index of a worker's source.
func (d *Dataset) of(rank topology.Rank) int {
	if len(d.sources) == 1 {
		return 0
	}
	return int(rank)
}

// Shard reads the samples of one worker only.
func (d *Dataset) Shard(rank topology.Rank) (data.Set, error) {
	if d.cut != nil {
		return d.cut[rank], nil
	}
	source := d.sources[d.of(rank)]
	if d.local {
		if err := d.checkStated(rank, source.Info.Train); err != nil {
			return data.Set{}, err
		}
		set, err := source.Train(nil)
		return d.noisy(rank, set, nil), err
	}
	p, err := d.partition()
	if err != nil {
		return data.Set{}, err
	}
	rows := p.Shards[rank]
	if d.whole == nil {
		set, err := source.Train(rows)
		return d.noisy(rank, set, rows), err
	}
	cut := d.whole.Subset(rows)
	d.whole = nil
	return d.noisy(rank, cut, rows), nil
}

// Used returns the number of training rows that some worker has.
func (d *Dataset) Used() (rows int, err error) {
	sizes := d.sizes
	if !d.local {
		p, err := d.partition()
		if err != nil {
			return 0, err
		}
		sizes = p.Sizes
	}
	for _, n := range sizes() {
		rows += n
	}
	return rows, nil
}

// sizes returns the training rows of all workers where each has files of its own. Until the machines have met, one that
// does not see the files of the others takes its own rows for theirs.
func (d *Dataset) sizes() []int {
	sizes := make([]int, d.cfg.Topology.Size)
	for i := range sizes {
		sizes[i] = d.sources[d.of(topology.Rank(i))].Info.Train
	}
	if d.cfg.Data.Sizes.Law == "shares" {
		for i, share := range d.cfg.Data.Sizes.Shares {
			sizes[i] = int(share)
		}
	}
	return sizes
}

// Shards reads every train split once and cuts it up.
func (d *Dataset) Shards(workers int) ([]data.Set, error) {
	sets, err := readAll(d, workers)
	if err == nil {
		d.cut = sets
	}
	return sets, err
}

// builtIn is the name of the synthetic digits.
const builtIn = "glyphs"

// drawn reports whether the samples are the built-in digits, with the scaling of a new model.
func drawn(d *Dataset) bool { return d.cfg.Data.Name == builtIn && d.trained == nil }

// The splits of the built-in digits, which do not change. To draw them takes longer than a small run trains, and a plan
// or a comparison makes many runs in one process.
var (
	drawnToTrain = sync.OnceValues(func() (data.Set, error) {
		source, err := data.Open(builtIn, "")
		if err != nil {
			return data.Set{}, err
		}
		return source.Train(nil)
	})
	drawnToTest = sync.OnceValues(func() (data.Set, error) {
		source, err := data.Open(builtIn, "")
		if err != nil {
			return data.Set{}, err
		}
		return source.Test()
	})
)

// readAll reads the shards of all workers.
func readAll(d *Dataset, workers int) ([]data.Set, error) {
	sets := make([]data.Set, workers)
	if d.local {
		for i := range sets {
			var err error
			if sets[i], err = d.Shard(topology.Rank(i)); err != nil {
				return nil, err
			}
		}
		return sets, nil
	}
	p, err := d.partition()
	if err != nil {
		return nil, err
	}
	read := func() (data.Set, error) { return d.sources[0].Train(nil) }
	if drawn(d) {
		read = drawnToTrain
	}
	all, err := read()
	if err != nil {
		return nil, err
	}
	for i, rows := range p.Shards {
		sets[i] = d.noisy(topology.Rank(i), all.Subset(rows), rows)
	}
	return sets, nil
}

// checkUneven refuses files with other numbers of rows than stated, where this process has those of all workers.
func (d *Dataset) checkUneven() error {
	if !d.local || len(d.sources) == 1 {
		return nil
	}
	for rank, source := range d.sources {
		if err := d.checkStated(topology.Rank(rank), source.Info.Train); err != nil {
			return err
		}
	}
	return nil
}

// checkStated compares the rows of a worker's own files with those that the run file states.
func (d *Dataset) checkStated(rank topology.Rank, rows int) error {
	if d.cfg.Data.Sizes.Law != "shares" {
		return nil
	}
	if stated := d.cfg.Data.Sizes.Shares[rank]; stated != float64(rows) {
		e := configs.Errorf("data.sizes.shares", "the files of worker %d have %d samples to train on, but the list says %.0f",
			rank, rows, stated)
		e.Problems[0].Hint = "give the number of each worker, in the order of the ranks, or leave data.sizes out: machines " +
			"that meet tell each other"
		return e
	}
	return nil
}

// noisy returns the shard of a worker with the wrong labels that the run asks for.
func (d *Dataset) noisy(rank topology.Rank, shard data.Set, rows []int) data.Set {
	noise := data.Noise{Seed: d.cfg.Seed, Worker: int(rank), Share: d.cfg.Data.NoiseOf(int(rank))}
	return noise.Apply(shard, rows)
}

// weigh returns the weights of the workers: n·m_i/m, where worker i has m_i of all m samples in use. With a doubly
// stochastic W the mean model moves by the mean over the workers of their updates. If each takes the gradient of its
// mean loss times its weight, that is the gradient of the mean over all samples.
func (d *Dataset) weigh() ([]float64, error) {
	if d.local {
		return data.Weights(d.sizes()), nil
	}
	p, err := d.partition()
	if err != nil {
		return nil, err
	}
	return data.Weights(p.Sizes()), nil
}

// allTests returns the rows that evaluate a model of no single worker, such as the mean.
func (d *Dataset) allTests() (data.Set, error) {
	sets := make([]data.Set, len(d.tests))
	for i, test := range d.tests {
		var err error
		if sets[i], err = test(); err != nil {
			return data.Set{}, err
		}
	}
	return data.Concat(sets), nil
}

// counts returns the number of samples of each worker where files are not cut into shards.
func (d *Dataset) counts() (data.Partition, error) {
	classes := d.sources[0].Info.Classes
	p := data.Partition{Classes: classes, Unused: make([]int, len(classes))}
	for _, s := range d.sources {
		y, err := s.TrainLabels()
		if err != nil {
			return data.Partition{}, err
		}
		count := make([]int, len(classes))
		for _, label := range y.Of {
			count[label]++
		}
		p.Counts = append(p.Counts, count)
	}
	return p, nil
}

// Partition returns how the train split is cut. It reads the labels.
func (d *Dataset) Partition() (data.Partition, error) {
	if d == nil {
		return data.Partition{}, errors.New("this model has no data to cut")
	}
	if err := d.CheckTogether(); err != nil {
		return data.Partition{}, err
	}
	return d.partition()
}

// Weights returns the weights of the workers in the objective. It may read the labels.
func (d *Dataset) Weights() ([]float64, error) { return d.weights() }

// Info describes the set; where each worker has files of its own, those of the first one. All have one form.
func (d *Dataset) Info() data.Info {
	if d == nil {
		return data.Info{}
	}
	return d.sources[0].Info
}

// Local reports whether each worker trains on all rows of files of its own.
func (d *Dataset) Local() bool { return d != nil && d.local }

// Test returns the test rows of a worker.
func (d *Dataset) Test(rank topology.Rank) (data.Set, error) { return d.tests[d.of(rank)]() }

// Tests returns the rows that evaluate a model of no single worker, such as the mean.
func (d *Dataset) Tests() (data.Set, error) { return d.common() }

// Rows returns the rows that a worker trains on and is evaluated on, nil for an objective without data.
func (d *Dataset) Rows(rank topology.Rank) (*record.Rows, error) {
	if d == nil {
		return nil, nil
	}
	info := d.sources[d.of(rank)].Info
	rows := &record.Rows{Train: info.Train, Test: info.Test}
	if most := d.cfg.Output.EvaluateSamples; most > 0 {
		rows.Test = min(most, info.Test)
	}
	if d.local {
		test, err := d.tests[d.of(rank)]()
		rows.TestSet = data.Fingerprint(test)
		return rows, err
	}
	p, err := d.partition()
	if err == nil {
		rows.Train = len(p.Shards[rank])
	}
	return rows, err
}

// Bytes returns the bytes of the samples of a worker and of the test samples.
func (d *Dataset) Bytes() int64 {
	info := d.Info()
	rows := info.Test + info.Train
	if !d.local {
		rows = info.Test + info.Train/d.cfg.Topology.Size
	}
	bytes := int64(rows) * int64(info.Shape.Features())
	switch {
	case info.Sparse > 0: // an index and a value each
		bytes = int64(rows) * int64(info.Sparse) * 2 * floatBytes
	case !info.Pixels:
		bytes *= floatBytes
	}
	return bytes
}

// With returns the data of a run whose machines have these training rows, by rank, and its configuration, which differs
// from cfg in data.sizes. A list that the run states must be the same.
func (d *Dataset) With(cfg configs.Config, rows []int) (*Dataset, configs.Config, error) {
	if cfg.Data.Sizes.Law == "shares" {
		for rank, n := range rows {
			if err := d.checkStated(topology.Rank(rank), n); err != nil {
				return nil, cfg, err
			}
		}
		return d, cfg, nil
	}
	agreed := *d
	cfg.Data.Sizes.Law, cfg.Data.Sizes.Shares = "shares", make([]float64, len(rows))
	for rank, n := range rows {
		cfg.Data.Sizes.Shares[rank] = float64(n)
	}
	agreed.cfg, agreed.notes = cfg, nil
	agreed.prepare()
	return &agreed, cfg, nil
}
