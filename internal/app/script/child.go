package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/python"
)

// Options say how a script is started.
type Options struct {
	Command []string
	Rank    int // before each line of its output; −1: none
	Out     io.Writer
	Err     io.Writer
	Log     *slog.Logger
}

// A Room is what a script needs of the peers of its run.
type Room interface {
	// Start gives all workers the vector x of worker 0.
	Start(ctx context.Context, x []float32) error
	// Average returns the mean of the vectors that all workers pass to the same call, from 1 on.
	Average(ctx context.Context, call int, x []float32) ([]float32, error)
}

// A Child is the script that trains one worker, as a child of this process. Its methods may be called from several
// goroutines.
type Child struct {
	Late *Late // holds the steps of the worker back

	o      Options
	script *bridge.Script
	shape  bridge.Outline
	start  []float32 // of the script; after Meet that of the run
	folder string    // of gossip.py
	room   atomic.Pointer[meeting]

	turn   sync.Mutex // held while the script has the vector
	saving int        // round before which the script is asked for its state, −1: none
	usual  time.Duration
	cost   atomic.Int64 // nanoseconds

	mu      sync.Mutex
	rank    int
	round   int // that the script was told last
	scores  func(record.Event)
	score   *record.Score // the newest
	stopped bool
}

// A meeting is the room in which a script takes means, until ctx ends.
type meeting struct {
	Room
	ctx context.Context
}

// Begin starts the script and waits until it has told its size. The caller must Close it.
func Begin(ctx context.Context, o Options) (*Child, error) {
	c := &Child{Late: NewLate(), o: o, saving: -1, scores: func(record.Event) {}}
	var err error
	if c.folder, err = os.MkdirTemp("", "peer-python-"); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if err := python.Install(c.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	c.script, err = bridge.Start(ctx, bridge.Options{
		Command: o.Command, Rank: o.Rank, Out: o.Out, Err: o.Err, PythonPath: c.folder, Log: o.Log,
		Loss: c.Late.Loss, Score: c.note, Average: c.average,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	late := time.AfterFunc(patience, func() {
		o.Log.Warn("the script has not joined the run yet: it must call gossip.join", "script", advice.Command(o.Command...))
	})
	defer late.Stop()
	if c.shape, c.start, err = c.script.Hello(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// patience is how long a script may take for one step, or to join, before the log says so.
const patience = time.Minute

// Outline returns the names and shapes of the vector.
func (c *Child) Outline() *model.Outline {
	o := &model.Outline{Exact: c.shape.Exact}
	end := 0
	for _, t := range c.shape.Tensors {
		p := model.Param{Name: t.Name, Shape: slices.Clone(t.Shape), Off: end}
		o.Params = append(o.Params, p)
		end += p.Len()
	}
	return o
}

// Meet waits for the vector with which all workers begin, which is that of worker 0. A worker that returns has known it
// before, or begins later.
func (c *Child) Meet(ctx context.Context, room Room, known []float32, later bool) error {
	c.room.Store(&meeting{room, ctx})
	switch {
	case later:
		return nil
	case known != nil:
		c.start = known
		return nil
	}
	return room.Start(ctx, c.start)
}

// Start returns the vector at round 0, after Meet.
func (c *Child) Start() []float32 { return c.start }

// A Place is where a worker begins.
type Place struct {
	Run         string
	Seed        uint64
	Rank, Size  int
	Rounds      int
	Round       int // in which it begins
	Checkpoints bool
}

// Welcome tells the script where it begins: with x and, after a checkpoint, with its own state, which may be nil.
func (c *Child) Welcome(p Place, x []float32, blob []byte, observe func(record.Event)) error {
	c.mu.Lock()
	c.rank, c.round, c.scores = p.Rank, p.Round, observe
	c.mu.Unlock()
	if p.Round > 0 && blob == nil && p.Round < p.Rounds {
		c.o.Log.Warn("the script begins without its state: optimizer and data order are those of its start", "round", p.Round)
	}
	return c.script.Welcome(bridge.Welcome{
		Run: p.Run, Rank: p.Rank, Size: p.Size, Rounds: p.Rounds, Round: p.Round, Seed: p.Seed, Checkpoints: p.Checkpoints,
	}, x, blob)
}

// Gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y.
func (c *Child) Gradient(g []float32, k int, x []float32) (float32, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	c.round = k
	c.mu.Unlock()
	late := time.AfterFunc(patience, func() {
		c.o.Log.Warn("the script has not taken its step yet: it must call opt.step or peer.step once a round", "round", k)
	})
	defer late.Stop()
	began := time.Now()
	loss, err := c.script.Gradient(g, k, x)
	if err != nil {
		return loss, c.fate(err)
	}
	took := time.Since(began)
	if c.saving == k {
		c.cost.Store(int64(max(0, took-c.usual)))
	} else {
		c.usual = took
	}
	c.Late.Stepped(k, c.script.HandOver())
	return loss, nil
}

var _ work.Gradient = (*Child)(nil).Gradient

// SaveBefore asks the script for its state before round k, in which it has not begun to train.
func (c *Child) SaveBefore(k int) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.saving = k
	c.script.SaveBefore(k)
}

// State waits for the state before round k.
func (c *Child) State(k int) ([]byte, error) { return c.script.State(k) }

// Cost is how much longer the last step with a state took than the one before.
func (c *Child) Cost() time.Duration { return time.Duration(c.cost.Load()) }

// note takes a score of the script.
func (c *Child) note(accuracy, loss float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.score = &record.Score{Rank: c.rank, Round: c.round, Loss: loss, Accuracy: accuracy}
	if c.round > 0 {
		c.scores(record.Event{Score: c.score})
	}
}

// average answers a script that wants the mean of all workers' vectors.
func (c *Child) average(call int, x []float32) ([]float32, error) {
	m := c.room.Load()
	if m == nil {
		return nil, errors.New("no other worker is known yet")
	}
	return m.Average(m.ctx, call, x)
}

// Finish tells the script that the worker has done its rounds, with the final vector x, and waits until the script has
// ended. It returns the loss and the accuracy that the script has told last, NaN if none.
func (c *Child) Finish(ctx context.Context, rounds, planned int, x []float32) (loss, accuracy float64, err error) {
	defer c.Late.Flush()
	end := bridge.End{Why: "finished", Round: rounds, Message: fmt.Sprintf("all %d rounds are done", rounds)}
	if rounds < planned {
		end.Why, end.Message = "target", fmt.Sprintf("the run ends after %d rounds", rounds)
	}
	c.mu.Lock()
	c.round = rounds
	c.mu.Unlock()
	defer context.AfterFunc(ctx, c.script.Interrupt)()
	if err := c.script.End(end, x); err != nil {
		return 0, 0, c.fate(err)
	}
	if err := c.script.Wait(); err != nil {
		return 0, 0, c.fate(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.score == nil {
		return math.NaN(), math.NaN(), nil
	}
	return c.score.Loss, c.score.Accuracy, nil
}

// Stop ends a script whose worker ends with an error. After an interruption the script may save what it has.
func (c *Child) Stop(ctx context.Context, why error) {
	end := bridge.End{Why: "stopped", Message: why.Error(), Round: c.round}
	if ctx.Err() != nil {
		end.Why = "interrupted"
	}
	_ = c.script.End(end, nil) // it may be gone
	c.Close()
}

// Close kills the script if it still runs, and removes its folder.
func (c *Child) Close() {
	c.script.Kill()
	_ = c.script.Wait()
	c.Late.Flush()
	_ = os.RemoveAll(filepath.Clean(c.folder)) // a leftover file does no harm
}
