package worker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// A Start says where a worker begins.
type Start int

// Starts.
const (
	Fresh  Start = iota // at round 0, with a store that must be empty
	Resume              // at the newest checkpoint
	Return              // the same, or at round 0 if there is none
)

// A Store keeps the state of one worker.
type Store struct {
	dir  string
	run  *experiment.Run
	rank topology.Rank
	log  *slog.Logger
	lock *safefile.Lock // nil before Find, and where nothing is kept
	// Peers is how many peers share the disk, 0 is 1.
	Peers int
	room
	succession
}

// A succession is the run whose settings checkpoints have from a round on. The goroutine that writes them asks for it.
type succession struct {
	mu   sync.Mutex
	run  *experiment.Run // nil: the run of the store always
	from int
}

// change makes checkpoints from a round on those of another run.
func (s *succession) change(run *experiment.Run, from int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.from = run, from
}

// at returns the run of round k, nil for that of the store.
func (s *succession) at(k int) *experiment.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k < s.from {
		return nil
	}
	return s.run
}

// NewStore returns the store of a worker of a run with its folder. It touches no file.
func NewStore(run *experiment.Run, folder string, rank topology.Rank, log *slog.Logger) *Store {
	return &Store{dir: runfolder.RankFolder(run.Config(), folder, int(rank)), run: run, rank: rank, log: log}
}

// Dir returns the folder of the store.
func (s *Store) Dir() string { return s.dir }

// A UsedError says that a new run would begin in the folder of another one.
type UsedError struct {
	Dir   string
	Round int // of its newest checkpoint
}

func (e *UsedError) Error() string {
	return fmt.Sprintf("%s: has a checkpoint of round %d", e.Dir, e.Round)
}

// Hint says what to do.
func (e *UsedError) Hint() string {
	return "go on from it with --resume, name another checkpoint.dir, or remove the folder"
}

// Check returns an error unless the run can resume from the newest checkpoint of the store. The error wraps
// checkpoint.ErrNone if there is none. It changes nothing.
func (s *Store) Check() error {
	found, err := checkpoint.Peek(s.dir)
	if err != nil {
		return err
	}
	return found.Check(s.manifest(0), s.legal)
}

// CheckStores is Check for all workers of a run: one of them must have a checkpoint, and the run must be able to resume
// from all checkpoints.
func CheckStores(run *experiment.Run, folder string) error {
	there := false
	for rank := range run.N() {
		err := NewStore(run, folder, topology.Rank(rank), nil).Check()
		if errors.Is(err, checkpoint.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		there = true
	}
	if !there {
		none := fmt.Errorf("%w in %s", checkpoint.ErrNone, runfolder.CheckpointsOf(run.Config(), folder))
		return runfolder.HintNothing(run.Config(), none)
	}
	return nil
}

// StoredRows returns the training rows of all machines on which a run agreed, as its checkpoints have them. It returns
// nil where none has such a list.
func StoredRows(run *experiment.Run, folder string) []int {
	var data struct {
		Sizes struct{ Shares []int }
	}
	for rank := range run.N() {
		found, err := checkpoint.Peek(runfolder.RankFolder(run.Config(), folder, rank))
		if err != nil {
			continue // CheckStores says it
		}
		for _, s := range found.Settings {
			if s.Name == "data" && json.Unmarshal(s.JSON, &data) == nil && len(data.Sizes.Shares) == run.N() {
				return data.Sizes.Shares
			}
		}
	}
	return nil
}

// An Origin is where a worker begins.
type Origin struct {
	Round int
	State *state.Snapshot // nil at round 0
	Kept  bool            // the worker keeps checkpoints
	// Start is the vector at round 0 of an external model that returns there; nil: not known. Blob is the state of its
	// script; nil: none.
	Start []float32
	Blob  []byte
	Ended []byte // script.State.Ended; nil: it takes steps
}

// Find says where the worker begins. Until Close no other process can open the same store.
func (s *Store) Find(from Start) (Origin, error) {
	if s.run.Config().Reweights() && from != Resume {
		return Origin{}, nil // the others go on, so that its own checkpoint is useless
	}
	if err := s.claim(from); err != nil {
		return Origin{}, err
	}
	found, err := s.find(from)
	if err != nil {
		return Origin{}, err
	}
	o := Origin{Kept: found != nil || s.keeps()}
	if found != nil && found.Round > 0 {
		o.Round, o.State, o.Blob = found.Round, found.State, s.blobAt(found)
		o.Ended = bytesOf(found.State, endedTensor)
		return o, nil
	}
	if from != Fresh {
		o.Start, err = s.StartVector()
	}
	return o, err
}

// Begin builds the worker of a run at its origin, and returns its checkpoints. The program is nil for a built-in model.
func (s *Store) Begin(o Origin, run *experiment.Run, p Program) (*build.Worker, *node.Checkpoints, error) {
	w, err := build.New(run, s.rank, o.State)
	if err != nil || !o.Kept {
		return w, nil, err
	}
	if p != nil && o.State == nil {
		if err := s.keepStart(run, p); err != nil {
			return nil, nil, err
		}
	}
	kept, err := s.keep(w, o.Round, p)
	return w, kept, err
}

// Close lets other processes open the store.
func (s *Store) Close() {
	s.release()
	if s.lock != nil {
		_ = s.lock.Release() // the end of the process releases it too
	}
}

// keeps reports whether the run file asks for checkpoints.
func (s *Store) keeps() bool {
	c := s.run.Config().Checkpoint
	return c.Every > 0 || c.Seconds > 0
}

// claim locks the folder if it has checkpoints, or will have.
func (s *Store) claim(from Start) error {
	_, there := checkpoint.Newest(s.dir)
	begins := from != Resume && s.keeps()
	if s.lock != nil || !there && !begins {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("checkpoint.dir: %w", err)
	}
	var err error
	s.lock, err = runfolder.Lock(s.dir)
	return err
}

// find returns the checkpoint to begin at, nil for round 0.
func (s *Store) find(from Start) (*checkpoint.Found, error) {
	if from == Fresh {
		if round, there := checkpoint.Newest(s.dir); there {
			return nil, &UsedError{s.dir, round}
		}
		return nil, nil
	}
	found, err := checkpoint.Latest(s.dir)
	if from == Return && errors.Is(err, checkpoint.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, runfolder.HintNothing(s.run.Config(), s.hintRank(err))
	}
	for _, damaged := range found.Skipped {
		s.log.Warn("checkpoint skipped", "why", damaged)
	}
	return found, found.Check(s.manifest(0), s.legal)
}

// hintRank adds the ranks with a checkpoint to an error that says that this rank has none.
func (s *Store) hintRank(err error) error {
	others := runfolder.RanksIn(filepath.Dir(s.dir))
	if !errors.Is(err, checkpoint.ErrNone) || len(others) == 0 {
		return err
	}
	hint := fmt.Sprintf("this peer has rank %d, and the checkpoints there are of %s %v: name the folder of this peer",
		s.rank, human.Noun(len(others), "rank"), others)
	if len(s.run.Config().Peers) > 0 && len(others) == 1 {
		hint = fmt.Sprintf("the roster lists this machine as worker %d, and its state is that of worker %d: put the "+
			"entries of the roster back in their order, on all machines", s.rank, others[0])
	}
	return advice.With(err, hint)
}

// keep returns the checkpoints of w, which is at the beginning of round. At the beginning of round 0 the run file gives
// all of a worker's state.
func (s *Store) keep(w *build.Worker, round int, p Program) (*node.Checkpoints, error) {
	c := s.run.Config().Checkpoint
	kept := &node.Checkpoints{
		Round: round, Every: c.Every, Period: time.Duration(c.Seconds * float64(time.Second)), Keep: c.Keep,
	}
	// Training waits for only a copy in memory, and a worker that must end at once writes the last copy. A large state
	// goes to disk without one: training waits until the kernel has it, and a worker that must end has its checkpoint.
	switch shown := state.Share(); {
	case p != nil:
		s.keepScript(kept, p, s.copies(kept, w))
	case sizeOf(w, shown) > budget.MostCopied:
		s.streams(kept, w, shown)
	default:
		s.copies(kept, w)
	}
	sizes := forecast.Sizes(s.run, s.rank)
	s.setAside(sizes, kept)
	if m, ok := w.Machine.(interface{ Slots() gossip.Slots }); ok {
		var err error
		kept.Journal, err = journal.Open(filepath.Join(s.dir, "journal"), m.Slots(), m.Slots().Of(round, 0))
		if err != nil {
			return nil, err
		}
		kept.Room = func() int64 { return s.growth(sizes, kept.Journal) }
		kept.Growth = kept.Room()
	}
	return kept, nil
}

// manifest describes the state before round k. The name of the run is not among
// the settings.
func (s *Store) manifest(k int) checkpoint.Manifest {
	m := checkpoint.Manifest{Run: s.run.Config().Name, Rank: int(s.rank), Round: k}
	run := cmp.Or(s.at(k), s.run)
	for _, section := range run.Sections() {
		m.Settings = append(m.Settings, checkpoint.Section{Name: section.Name, JSON: section.JSON})
	}
	return m
}

// legal reports whether a run may resume although a setting has changed. More rounds are legal: people continue
// training. They are not legal if step sizes depend on their number, because repeated rounds would differ from those
// that other workers have seen.
//
// In a process that does not train an external model, its size is not known, and so neither is what follows from it.
func (s *Store) legal(d checkpoint.Difference) bool {
	unknown := d.Key == "algorithm.gamma" && d.Now == `"auto"` || strings.HasPrefix(d.Key, "script.") && d.Now == ""
	if unknown && s.run.Dim() == 0 {
		return true
	}
	var then, now int
	if d.Key != "train.rounds" || s.run.Config().Train.Schedule != "constant" {
		return false
	}
	err := errors.Join(json.Unmarshal([]byte(d.Then), &then), json.Unmarshal([]byte(d.Now), &now))
	return err == nil && now > then
}
