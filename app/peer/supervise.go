package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/score"
)

const (
	DefaultRestart = 5  // the default, unless on_lost_neighbor is reweight
	Unsaid         = -1 // stands for it
)

// restartsOf returns how many times a minute a peer of a run is started again.
func restartsOf(cfg configs.Config, asked int) int {
	kept := cfg.Checkpoint
	switch {
	case cfg.Faults.OnLostNeighbor == "reweight":
		return max(asked, 0)
	case kept.Every == 0 && kept.Seconds == 0:
		return 0 // without a key of its own, a peer that comes back is not recognised
	case asked == Unsaid:
		return DefaultRestart
	}
	return asked
}

// ParseRestart reads the value of --restart.
func ParseRestart(text string) (times int, err error) {
	switch text {
	case "never":
		return 0, nil
	case "":
		return Unsaid, nil
	}
	if times, err = strconv.Atoi(text); err != nil || times < 0 {
		return 0, advice.Usagef("--restart %s: want a number of times a minute, or never", text)
	}
	return times, nil
}

// A Lab is a run with all peers as processes of this machine.
type Lab struct {
	*session.Session
	Restarts int           // how many times a minute a dead peer is started again, or Unsaid
	Resume   bool          // the peers go on from their checkpoints
	Quiet    bool          // each peer logs only errors
	Verbose  int           // how much more each peer logs
	Lost     int           // exit code of a peer that has lost the others
	Still    <-chan func() // delivers functions during which the peers stand still
	Script   Scripts
}

// Run starts the peers, attends them to their end, and returns their final models by rank.
// A peer that dies is started again as often as Restarts allows. The session must have an
// ending.
func (l *Lab) Run(ctx context.Context) (models score.Replicas, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("lab: cannot find the path of this program: %w", err)
	}
	run := l.Session.Run
	l.sayShown(run.N())
	err = fleet.Run(ctx, fleet.Options{
		Peers: run.N(), Restarts: restartsOf(run.Config(), l.Restarts),
		Command:    func(rank, life int) *exec.Cmd { return l.peer(program, rank, life) },
		Expendable: l.spares(),
		Script:     fault.Rest(experiment.Script(run.Config()), l.History.Begun(), l.History.Trained()),
		Lasted:     l.History.Trained(),
		Missed:     l.Missed,
		End:        l.Over(),
		Still:      l.Still,
		History:    l.History,
		Event:      l.Event,
		Log:        l.Log,
		Grace:      l.grace(),
	})
	if err != nil {
		if peer, ok := errors.AsType[*fleet.PeerError](err); ok && peer.Unmet && peer.Hint == "" {
			peer.Hint = "the run had not begun: start it again; with --restart " + strconv.Itoa(DefaultRestart) +
				" a peer that dies is started again"
		}
		return nil, err
	}
	return worker.Models(l.Folder, run, l.Finals())
}

// sayShown says where the output of scripts is that is not shown.
func (l *Lab) sayShown(peers int) {
	if where := l.Script.where(l.Folder.Dir, peers); where != "" && !l.Quiet {
		fmt.Fprintln(l.Display, where)
	}
}

// ScriptGrace is how long peers with scripts have between the order to stop and being killed.
const ScriptGrace = bridge.Ending + fleet.DefaultGrace

// grace returns the time from the order to stop to the kill.
func (l *Lab) grace() time.Duration {
	if len(l.Script.Command) > 0 {
		return ScriptGrace
	}
	return fleet.DefaultGrace
}

// peer returns the command that starts a peer; life counts its earlier starts.
func (l *Lab) peer(program string, rank, life int) *exec.Cmd {
	args := append([]string{"run", l.Folder.Path(runfolder.RunFile), "--rank", strconv.Itoa(rank),
		"--supervised"}, l.words(rank)...)
	if l.Resume || life > 0 {
		args = append(args, "--resume")
	}
	return l.command(program, args)
}

// command returns the command of a peer or member with its share of this machine.
func (l *Lab) command(program string, args []string) *exec.Cmd {
	cmd := exec.Command(program, append(args, script.After(l.Script.Command)...)...)
	cmd.Env = machine.ShareProcessors(os.Environ(), l.Session.Run.N())
	if len(l.Script.Command) > 0 {
		cmd.Env = machine.ShareThreads(cmd.Env, l.Session.Run.N())
	}
	return cmd
}

// words returns the flags with which a peer logs as much as this process, and its script too.
func (l *Lab) words(rank int) (words []string) {
	if l.Script.hides(rank) {
		words = append(words, "--hide-script")
	}
	if l.Quiet {
		words = append(words, "--quiet")
	}
	for range l.Verbose {
		words = append(words, "--verbose")
	}
	return words
}

// spares returns the failures after which the run goes on: under the policy reweight, peers that died or lost the
// others.
func (l *Lab) spares() func(fleet.Failure) bool {
	if !l.Session.Run.Config().Reweights() {
		return nil
	}
	return func(f fleet.Failure) bool { return f.Died || f.Code == l.Lost }
}

// WhySim compares the finished run with its simulation.
func (l *Lab) WhySim() string {
	switch {
	case experiment.Timed(l.Session.Run):
		return "the same run in a simulator, whose times are its own"
	case l.LooksAhead():
		return "a run of as many rounds in a simulator, whose step sizes follow from them: another digest"
	case l.Bereft():
		return "the same run in a simulator, where no peer is lost: another digest"
	}
	return "the same run in a simulator: the same digest"
}
