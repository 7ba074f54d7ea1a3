package bridge

import (
	"io"
	"log/slog"
	"time"
)

// defaultGrace is the time that a script has between an interrupt and being killed.
const defaultGrace = 10 * time.Second

// LastStep is the time that a script has, before that, for the step under way, and again for its last state.
const LastStep = 5 * time.Second

// Ending is the longest time from the order to stop to the end of a script.
const Ending = 2*LastStep + defaultGrace

// defaultLinger is how long the bridge waits for the second of two signs of a script's end: the end of the process and
// the end of its connection or output.
const defaultLinger = 500 * time.Millisecond

// patience is the time until the user hears that the script has not joined.
const patience = time.Minute

// Options say how a script is started and who hears of its news. Start needs a Command, and everything else has a
// default.
type Options struct {
	Command []string // program and arguments
	// Rank is the worker's; lines of the script's output begin with "[rank] ". A negative one: they are passed on as
	// they are.
	Rank       int
	Out, Err   io.Writer // of the script's two outputs; nil: discarded
	Live       io.Writer // gets the newest state of a line that begins over, once a second; nil: nothing does
	PythonPath string    // put before PYTHONPATH; "": nothing
	Env        []string  // more of its environment, as name=value
	TCP        bool      // the script calls a port of this machine, with a token, in place of a Unix socket
	Log        *slog.Logger
	Grace      time.Duration // from Interrupt to the kill; 0: defaultGrace
	// Loss hears of each finite loss and the round that it belongs to, in order. All losses of round k have been heard
	// when the act after the STEP of round k + 1 is there, or Wait returns. Nil: losses are dropped.
	Loss func(round int, loss float64)
	// Values hears of the other values that the script logs with a round; nil is one that is not finite.
	Values func(round int, values map[string]*float64)
	// Score hears of evaluations; round is the number of rounds that are over. Nil: they are dropped.
	Score func(round int, values map[string]*float64)

	linger time.Duration
	after  func(time.Duration, func()) (stop func() bool)
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.linger == 0 {
		o.linger = defaultLinger
	}
	if o.after == nil {
		o.after = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return o
}
