package bridge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"
)

// DefaultGrace is the time that a script has between an interrupt and being killed.
const DefaultGrace = 10 * time.Second

// Options say how a script is started and who hears of its news.
type Options struct {
	Command []string // program and arguments
	// Rank is the worker's; lines of the script's output begin with "[rank] ". A negative one: they are passed on as
	// they are.
	Rank       int
	Out, Err   io.Writer // of the script's two outputs; nil: discarded
	PythonPath string    // put before PYTHONPATH; "": nothing
	Log        *slog.Logger
	Grace      time.Duration // from Interrupt to the kill; 0: DefaultGrace
	// Loss hears of each finite loss and the round that it belongs to, in order. All losses of round k have been heard
	// when Gradient returns for round k + 1 or Wait returns. Nil: losses are dropped.
	Loss func(round int, loss float64)
	// Score hears of evaluations; round is the number of rounds begun.
	Score func(round int, s Score)
	// Average returns the mean of x over all workers in the call with this number, 1 for the first. It may keep x until
	// it returns. Nil: averaging is refused.
	Average func(call int, x []float32) (mean []float32, err error)
}

// A Script is a running program that provides the update directions of one worker. One goroutine at a time calls
// Hello, Welcome, Gradient and End, in this order. The other methods may be called from any goroutine.
type Script struct{ options Options }

// Spent is how long the hand-over of vectors took, in sum.
type Spent struct {
	Out    time.Duration // from the peer to the script
	Script time.Duration // waiting for the script's step
	Back   time.Duration // from the script to the peer
	Rounds int
}

var errUnfinished = errors.New("the bridge is not built yet")

// Start listens and starts the program with PEER_SOCKET in its environment. The end of ctx kills it.
func Start(ctx context.Context, o Options) (*Script, error) { return nil, errUnfinished }

// Hello waits for the script to join. It returns the outline of its vector and its own start vector.
func (s *Script) Hello(ctx context.Context) (Outline, []float32, error) {
	return Outline{}, nil, errUnfinished
}

// Welcome tells the script the run and its start vector x. Blob is the state that it gave for the checkpoint from
// which the run goes on; nil: there is none.
func (s *Script) Welcome(w Welcome, x []float32, blob []byte) error { return errUnfinished }

// Gradient has the script take the local step of round k at x, and writes x minus the result into g. The loss is the
// newest finite one that the script has logged, 0 before any. It is a work.Gradient.
func (s *Script) Gradient(g []float32, k int, x []float32) (loss float32, err error) {
	return 0, errUnfinished
}

// SaveBefore has Gradient of round k, or End after k rounds, ask the script for its state before that round.
func (s *Script) SaveBefore(k int) {}

// State waits for the state before round k, for which SaveBefore(k) has asked.
func (s *Script) State(k int) ([]byte, error) { return nil, errUnfinished }

// End tells the script that no round follows, with the worker's final vector. The script may still average and
// evaluate; Wait waits for it.
func (s *Script) End(e End, x []float32) error { return errUnfinished }

// Refuse tells the script why the peer ends without it; hint says what to do. Nothing follows but Wait.
func (s *Script) Refuse(message, hint string) error { return errUnfinished }

// Wait waits for the end of the program and its output. The error is nil if the script ended well, an *Exit otherwise.
func (s *Script) Wait() error { return errUnfinished }

// Interrupt sends the program an interrupt, the first time it is called. The program is killed after Options.Grace.
func (s *Script) Interrupt() {}

// Kill ends the program and all of its process group at once.
func (s *Script) Kill() {}

// Spent returns how long rounds took so far.
func (s *Script) Spent() Spent { return Spent{} }
