package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/record"
	"gossiptrainer/model"
	"gossiptrainer/python"
	"gossiptrainer/topology"
)

// A Child is the script that trains one worker, as a child of this process. Its methods may be called from several
// goroutines.
type Child struct {
	Late *Late // holds the steps of the worker back

	o      Options
	script *bridge.Script
	start  []float32 // of the script; after Meet that of the run
	folder string    // of the Python package
	after  func(time.Duration, func()) (stop func() bool)
	last   *tail // of a hidden script; nil: its output is shown
	turns  *turns
	scores
}

// scores is what a script has told of its model.
type scores struct {
	mu     sync.Mutex
	rank   int
	tell   func(record.Event)
	newest record.Score // of Round −1 before any
}

// Begin starts the script and waits until it has told its size. It outlives ctx: the caller must Stop or Close it.
func Begin(ctx context.Context, o Options) (*Child, error) {
	late := newLate()
	c := &Child{Late: late, o: o, after: after,
		turns: &turns{late: late, log: o.Log, loss: bridge.NoLoss, saving: -1, stopping: make(chan struct{}),
			newest: newest{found: make(chan found, 1)}},
		scores: scores{tell: func(record.Event) {}, newest: record.Score{Round: -1}}}
	var err error
	if c.folder, err = os.MkdirTemp("", "peer-python-"); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	if err := python.Lend(c.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	said, failed := o.said(), o.Out
	if o.Hidden {
		c.last = new(tail)
		said, failed = c.last, c.last
	}
	c.script, err = bridge.Start(context.WithoutCancel(ctx), bridge.Options{
		Command: o.Command, Rank: -1, TCP: overTCP(),
		Out: o.kept(said), Err: o.kept(failed), Live: o.live(), PythonPath: c.folder, Log: o.Log,
		Env:  append(o.own(), o.Env...),
		Loss: c.Late.Loss, Values: c.noteValues, Score: c.note,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	c.turns.script = c.script
	slow := time.AfterFunc(patience, func() { o.Log.Warn("the script has not called gossiptrainer.join yet") })
	defer slow.Stop()
	if c.turns.shape, c.start, err = c.script.Hello(ctx); err != nil {
		c.Close()
		return nil, fate(err)
	}
	if o.Views && bridge.Same(c.script) == "" {
		err := errors.New(noViews)
		c.Refuse(err)
		return nil, &Error{err}
	}
	return c, nil
}

// noViews is why a script cannot train where members come and go.
const noViews = "the script does not say in its HELLO that it takes views, which it needs where members come and go: " +
	"use the package that `peer python path` names, outside of a notebook, or set membership.mode to fixed"

// own returns what the environment of a script has beside that of its peer.
func (o Options) own() []string {
	env := []string{"PEER_SEED=" + strconv.FormatUint(o.Seed, 10)}
	if o.Views {
		env = append(env, "PEER_VIEWS=1")
	}
	return env
}

// Close kills the script if it still runs, and removes its folder. It may be called twice, and of nil.
func (c *Child) Close() {
	if c == nil {
		return
	}
	c.script.Kill()
	if err := c.script.Wait(); err != nil {
		c.reveal()
	}
	c.Late.Flush()
	_ = os.RemoveAll(c.folder) // a leftover file does no harm
}

// reveal shows the last lines of a script whose output is hidden.
func (c *Child) reveal() {
	if c.last != nil {
		c.last.show(c.o.Out)
	}
}

// overTCP reports whether scripts call a port of this machine: where Python has no Unix sockets, and where the user has
// set PEER_SOCKET=tcp for the peer.
func overTCP() bool { return runtime.GOOS == "windows" || os.Getenv("PEER_SOCKET") == "tcp" }

// Outline returns the names and shapes of the vector.
func (c *Child) Outline() *model.Outline {
	o := outlineOf(c.turns.shape)
	if c.o.Views {
		o.Same = bridge.Same(c.script)
	}
	return o
}

func outlineOf(shape bridge.Outline) *model.Outline {
	o := &model.Outline{Exact: shape.Exact}
	end := 0
	for _, t := range shape.Tensors {
		p := model.Param{Name: t.Name, Shape: slices.Clone(t.Shape), Off: end}
		o.Params = append(o.Params, p)
		end += p.Len()
	}
	return o
}

// Enter gives the script the room of the run, in which it takes means until ctx ends. The topic is nil in a run of one.
func (c *Child) Enter(ctx context.Context, room Room, topic func() Topic) {
	c.turns.room = &meeting{room, topic, ctx}
}

// Meet waits for the vector with which all workers begin, which is that of worker 0. A worker that returns to round 0
// has known it before.
func (c *Child) Meet(ctx context.Context, room Room, known []float32) error {
	if known != nil {
		c.start = known
		return nil
	}
	return room.Start(ctx, c.start)
}

// Start returns the vector at round 0, after Meet.
func (c *Child) Start() []float32 { return c.start }

// Welcome tells the script where it begins: with x and, after a checkpoint, with its own state, which may be nil.
func (c *Child) Welcome(p Place, x []float32, blob []byte) error {
	c.turns.place = p
	c.turns.states.begin(p)
	left, err := c.turns.restore(p.Ended)
	if err != nil {
		return err
	}
	if p.Round > 0 && blob == nil && p.Ended == nil {
		c.o.Log.Warn("the script begins without its state", "round", p.Round)
	}
	err = c.script.Welcome(bridge.Welcome{
		Run: p.Run, Rank: p.Rank, Size: p.Size, Rounds: p.Rounds, Round: p.Round, Seed: p.Seed,
		Checkpoints: p.Checkpoints, Finished: p.Ended != nil,
	}, x, blob)
	if err == nil && left {
		c.o.Log.Info("the script had ended before, and is not run again")
		c.script.Kill()
	}
	return fate(err)
}

// Tell sends the scores of the script, as those of a worker, to observe from now on.
func (c *Child) Tell(rank int, observe func(record.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rank, c.tell = rank, observe
}

// Notice returns what to do with what another worker has told on the topic, nil if no worker can tell it.
func (c *Child) Notice(from topology.Rank, text []byte) func() {
	act := c.turns.states.hear(from, text)
	if act == nil {
		return nil
	}
	return func() {
		act()
		c.turns.share()
	}
}

// Gradient is a work.Gradient: the script takes the local step of round k from x to some y, and g is x − y. A script
// that has finished, or waits for others, takes none. Then g is 0, or work.ErrOver says that round k does not take
// place.
func (c *Child) Gradient(g []float32, k int, x []float32) (float32, error) {
	return c.turns.gradient(g, k, x)
}

// Newest returns the newest vector of the worker, with its round, for other workers.
func (c *Child) Newest() ([]float32, error) { return c.turns.newest.get() }

// SaveBefore asks the script for its state before round k, in which it has not begun to train.
func (c *Child) SaveBefore(k int) { c.turns.saveBefore(k) }

// State waits for the state before round k.
func (c *Child) State(k int) (State, error) { return c.turns.state(k) }

// AtEnd has keep called with the state of the script after its last round, for which SaveBefore has asked.
func (c *Child) AtEnd(keep func(blob []byte) error) { c.turns.keep = keep }

// Cost is how much longer the last step with a state took than the one before.
func (c *Child) Cost() time.Duration { return time.Duration(c.turns.timing.cost.Load()) }

// Change returns the change of the vector that followed from the newest gradient. It returns each change once, and nil
// otherwise.
func (c *Child) Change() *Change {
	t := c.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.heir.told
	t.heir.told = nil
	return told
}

// note takes a score of the script.
func (c *Child) note(round int, values map[string]*float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = record.Score{Rank: c.rank, Round: round, Loss: orNaN(values["loss"]), Accuracy: orNaN(values["accuracy"])}
	told := c.newest
	c.tell(record.Event{Score: &told})
}

// noteValues takes further values that the script logs with a round.
func (c *Child) noteValues(round int, values map[string]*float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(record.Event{Values: &record.Values{Rank: c.rank, Round: round, Values: values}})
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Refuse ends a script that has joined, but does not fit the run.
func (c *Child) Refuse(why error) {
	if c == nil {
		return
	}
	c.script.Refuse(why.Error(), "")
	c.Close()
}
