package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
)

// A checkpoint of a simulation is the state of the whole run: all workers, the frames on their way, the links, the
// virtual clock, and the place in the record. The keys checkpoint.every and checkpoint.seconds say when one is due. The
// seconds are those of the wall clock.

// CannotKeep returns why the simulation keeps no state, "" if it does.
func (s *Run) CannotKeep() string { return cannotKeep(s.Session.Run, s.Beside) }

func cannotKeep(run *experiment.Run, beside int) string {
	cfg := run.Config()
	switch {
	case beside > 0:
		return "a simulation of several networks at once keeps no state"
	case worker.LostPolicy(run) == peer.Reweight && len(run.Config().Faults.Script) > 0:
		return "faults.on_lost_neighbor is reweight: a simulation whose workers go on without others keeps no state"
	case cfg.Checkpoint.Every == 0 && cfg.Checkpoint.Seconds == 0:
		return "checkpoint.every and checkpoint.seconds are 0, so no state is kept"
	}
	return ""
}

// Again returns the command that goes on with a simulation.
func (s *Run) Again() string {
	words := []string{"peer", "sim", s.Folder.Dir, "--resume"}
	for _, until := range s.Until().Flags() {
		words = append(words, "--until", until)
	}
	return advice.Command(words...)
}

// Lost describes the part of the run that an interruption loses.
func (s *Run) Lost() string {
	if why := s.CannotKeep(); why != "" {
		return "the run is lost: " + why + "; start it again"
	}
	return s.Session.Lost(s.Again())
}

// A kept is the part of a checkpoint that package sim does not know.
type kept struct {
	Compute time.Duration `json:"compute_ns"` // of a gradient
	Costs   cost.Costs    `json:"costs,omitzero"`
	Cores   int           `json:"cores,omitempty"`
	session.Place
}

// parse reads a kept from JSON.
func (k *kept) parse(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(k); err != nil {
		return fmt.Errorf("it is of another program: %w: remove it to start again", err)
	}
	return nil
}

// keptTensor holds a kept as JSON, in the state of the run.
const keptTensor = "session"

// A Resumed is a checkpoint from which a simulation goes on.
type Resumed struct {
	kept
	Dir  string // of the run
	from *sim.Saved
}

// Find returns the newest checkpoint from which runs, on one network each, go on: of the run in dir, or of the newest
// run of the name if dir is "". It changes nothing. The error wraps checkpoint.ErrNone if there is none.
func Find(runs []*experiment.Run, dir string, until session.Until) (*Resumed, error) {
	run := runs[0]
	if why := cannotKeep(run, len(runs)-1); why != "" {
		return nil, advice.Usagef("sim: --resume: %s: start without --resume", why)
	}
	if dir == "" {
		var err error
		if dir, err = runfolder.FindSim(run.Config()); err != nil {
			return nil, runfolder.HintNothing(run.Config(), err)
		}
	}
	found, err := checkpoint.Latest(runfolder.SimFolder(run.Config(), dir))
	if err != nil {
		return nil, runfolder.HintNothing(run.Config(), err)
	}
	if err := found.Check(manifest(run, until, 0), func(checkpoint.Difference) bool { return false }); err != nil {
		return nil, err
	}
	r := &Resumed{Dir: dir}
	for _, t := range found.State.Tensors {
		if t.Name == keptTensor {
			err = r.kept.parse(t.Data)
		}
	}
	if err == nil {
		r.from, err = open(found)
	}
	if err == nil && (r.from.Round() != r.Round || found.Round != r.Round) {
		err = fmt.Errorf("it is of the rounds %d, %d and %d", found.Round, r.from.Round(), r.Round)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", found.Path, err)
	}
	return r, nil
}

// open reads the state of a run.
func open(found *checkpoint.Found) (*sim.Saved, error) {
	if found.Workers == nil {
		return sim.Open(found.State, nil)
	}
	return sim.Open(found.State, found.Workers)
}

// began returns the rounds that the workers begin again, none for a run from the beginning.
func (r *Resumed) began() []int {
	if r == nil {
		return nil
	}
	return r.from.Began()
}

// manifest describes the state before round k.
func manifest(run *experiment.Run, until session.Until, k int) checkpoint.Manifest {
	cfg := run.Config()
	m := checkpoint.Manifest{Run: cfg.Name, Round: k}
	for _, section := range run.Sections() {
		m.Settings = append(m.Settings, checkpoint.Section{Name: section.Name, JSON: section.JSON})
	}
	add := func(name string, values any) {
		text, err := json.Marshal(values)
		if err != nil {
			panic("internal error: simulate: " + err.Error()) // numbers and texts
		}
		m.Settings = append(m.Settings, checkpoint.Section{Name: name, JSON: text})
	}
	add("limit", cfg.Limit)
	add("output", struct {
		Every    int `json:"every"`
		Evaluate int `json:"evaluate"`
	}{cfg.Output.Every, cfg.Output.Evaluate})
	if len(run.Config().Faults.Script) > 0 {
		own := cfg.Checkpoint // a killed worker goes back to one
		own.Dir = ""
		add("faults", cfg.Faults)
		add("checkpoint", own)
		add("node.detect", cfg.Node.Detect)
	}
	add("until", until.String())
	add("results", experiment.ResultsVersion(cfg.Algorithm.Name))
	return m
}

// A keeper writes the checkpoints of a run.
type keeper struct {
	run    *Run
	ctx    context.Context // of the run: when it ends, one more is due
	dir    string
	plan   configs.Checkpoint
	last   time.Time     // when the last one was written, or the run began
	at     int           // the round before which it was taken
	pause  time.Duration // least time between two
	failed bool          // the last one could not be written
}

// share bounds the part of the time that checkpoints take.
const share = 0.01

// keeping returns the checkpoints of a run. It is nil if the run keeps none.
func (s *Run) keeping() *keeper {
	if s.CannotKeep() != "" {
		return nil
	}
	run := s.Session.Run
	cfg := run.Config()
	k := &keeper{run: s, dir: runfolder.SimFolder(cfg, s.Folder.Dir), plan: cfg.Checkpoint, last: time.Now()}
	if s.From != nil {
		k.at = s.From.Round
	}
	return k
}

// rules returns the functions that the simulation calls; nil if the run keeps no checkpoints.
func (k *keeper) rules() *sim.Keeping {
	if k == nil {
		return nil
	}
	return &sim.Keeping{Due: k.due, Begin: k.begin}
}

// grace bounds the time in which a run that is stopped reaches its last checkpoint.
const grace = 30 * time.Second

// leaving is the time per worker that the last checkpoint of a run may take, with its round.
const leaving = 200 * time.Microsecond

// Leaving returns how much longer than others a run of many workers may take to end after an interruption.
func (s *Run) Leaving() time.Duration {
	n := s.Session.Run.N()
	if n < many || s.CannotKeep() != "" {
		return 0
	}
	return time.Duration(n) * leaving
}

// graced returns a context that outlives ctx by grace: the simulation ends with the checkpoint of the next round. The
// caller must call end.
func (k *keeper) graced(ctx context.Context) (_ context.Context, end func()) {
	k.ctx = ctx
	graced, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace + k.run.Leaving()):
			cancel(context.Cause(ctx))
		case <-graced.Done():
		}
	})
	return graced, func() {
		stop()
		cancel(nil)
	}
}

// due reports whether the state before the round after this one is written. It is not asked for every round.
func (k *keeper) due(round int) bool {
	often := work.Interval{Rounds: k.plan.Every, Time: time.Duration(k.plan.Seconds * float64(time.Second))}
	if often.Time > 0 {
		often.Time = max(often.Time, k.pause)
	}
	return k.ctx.Err() != nil || often.Due(round+1, k.at, time.Since(k.last))
}

// A draft is a checkpoint that is being written.
type draft struct {
	*keeper
	file *checkpoint.Draft // nil: it cannot be written
	took time.Duration     // for the workers
	err  error
}

// begin begins a checkpoint.
func (k *keeper) begin(round int) sim.Draft {
	d := &draft{keeper: k}
	d.file, d.err = checkpoint.BeginAll(k.dir, manifest(k.run.Session.Run, k.run.Until(), round))
	return d
}

// Put writes a part of the state of a worker.
func (d *draft) Put(rank int, s *state.Snapshot) {
	if d.file != nil {
		began := time.Now()
		d.file.Put(rank, s)
		d.took += time.Since(began)
	}
}

// Drop removes the checkpoint.
func (d *draft) Drop() {
	if d.file != nil {
		_ = d.file.Drop() // the next draft replaces it
	}
}

// Take completes the checkpoint. The run goes on without it if that fails, and ends after it if it was stopped.
func (d *draft) Take(at sim.Boundary, s *state.Snapshot) error {
	began, k := time.Now(), d.keeper
	err := d.err
	if err == nil {
		err = d.write(at, s)
	}
	k.last, k.at = time.Now(), at.Round
	k.pause = time.Duration(float64(k.last.Sub(began)+d.took) / share)
	if err != nil && !k.failed {
		k.run.Warn(fmt.Sprintf("the run goes on without a newer checkpoint: %v", d.explain(err, s)))
	}
	k.failed = err != nil
	return context.Cause(k.ctx)
}

// write writes the rest of a checkpoint.
func (d *draft) write(at sim.Boundary, s *state.Snapshot) error {
	place, err := d.run.Mark(at)
	var text []byte
	if err == nil {
		text, err = json.Marshal(kept{d.run.Costs.Gradient, d.run.Costs, d.run.Cores, place})
	}
	if err != nil {
		return errors.Join(err, d.file.Drop())
	}
	s.Tensors = append(s.Tensors, state.Tensor{Name: keptTensor, Type: "U8", Data: text})
	if err := d.file.Finish(s); err != nil {
		return err
	}
	return d.file.Commit(d.plan.Keep)
}

// explain says what a full disk lacks.
func (d *draft) explain(err error, s *state.Snapshot) error {
	if !machine.IsFull(err) {
		return err
	}
	space := &runfolder.SpaceError{Dir: d.dir, Key: "output.dir", What: "a checkpoint", Err: err, Need: s.Bytes()}
	if d.file != nil {
		space.Need = max(space.Need, d.file.Bytes())
	}
	return space
}

// restore replaces the workers by those of a checkpoint.
func (r *Resumed) restore(workers []*build.Worker) error {
	if r.from.Len() != len(workers) {
		return errors.New("simulate: the checkpoint is of another number of workers")
	}
	for i, w := range workers {
		s, err := r.from.Worker(i)
		if err != nil {
			return err
		}
		again, err := w.Restart(s)
		if err != nil {
			return err
		}
		*w = *again
	}
	return nil
}
