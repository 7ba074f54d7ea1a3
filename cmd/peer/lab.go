package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/app/worker"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/record"
)

func newLab(c *console) *cobra.Command {
	var file runFile
	var restart string
	var until []string
	cmd := &cobra.Command{
		Use:   "lab [FILE]",
		Short: "train with all peers of a run as processes on this machine",
		Long: `train with all peers of a run as processes on this machine

FILE is a run file or the name of a preset; without it, it is ` + defaultPreset + `. The peers are
libp2p hosts that talk over local sockets, as they would on a LAN. One that dies is
started anew and goes on from its newest checkpoint; the others wait for it.

A run may end before its rounds are over: when it has trained for a time, or when it has
reached a loss or an accuracy as a report sees it. All peers then finish the rounds that
one of them has begun; the result is that of a run of so many rounds.`,
		Example: `  peer lab
  peer lab ring8-fashion --set algorithm.bits=4
  peer lab my-run.yaml --json > summary.json
  peer lab my-run.yaml --until loss=0.4 --until time=10m
  peer lab my-run.yaml --resume       go on with the newest run of this file that has a checkpoint`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			restarts, err := parseRestart(restart)
			if err != nil {
				return err
			}
			ends, err := parseUntil("lab", until)
			if err != nil {
				return err
			}
			return runLab(cmd.Context(), c, &file, args, restarts, ends)
		},
	}
	file.addFlags(cmd)
	file.addResume(cmd)
	c.addJSON(cmd)
	addUntil(cmd, &until)
	cmd.Flags().StringVar(&restart, "restart", "", "`times` a minute that a dead peer is started anew, or never")
	cmd.Flags().Lookup("restart").DefValue = strconv.Itoa(defaultRestart)
	return cmd
}

const (
	defaultRestart = 5  // is what people need, but where the others go on
	unsaid         = -1 // stands for it
)

// restartsOf returns how many times a minute a peer of a run is started anew.
func restartsOf(cfg configs.Config, asked int) int {
	kept := cfg.Checkpoint
	switch {
	case cfg.Faults.OnLostNeighbor == "reweight":
		return max(asked, 0)
	case kept.Every == 0 && kept.Seconds == 0:
		return 0 // nobody would know the one that comes back
	case asked == unsaid:
		return defaultRestart
	}
	return asked
}

// parseRestart reads the value of --restart.
func parseRestart(text string) (times int, err error) {
	switch text {
	case "never":
		return 0, nil
	case "":
		return unsaid, nil
	}
	if times, err = strconv.Atoi(text); err != nil || times < 0 {
		return 0, advice.Usagef("--restart %s: want a number of times a minute, or never", text)
	}
	return times, nil
}

func runLab(ctx context.Context, c *console, file *runFile, args []string, restarts int, ends until) error {
	run, err := file.assembleFor("lab", args)
	if err == nil {
		err = ends.check(run)
	}
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("lab: where is this program: %w", err)
	}
	dir, err := file.folderOf(run, runfolder.OfLab)
	if err != nil {
		return err
	}
	s, err := c.resume(ctx, run, "lab", dir)
	if err != nil {
		return err
	}
	defer s.end()
	again := advice.Command("peer", "lab", s.folder.Dir, "--resume")
	s.canGoOn(again)
	if file.resume {
		s.sayResumed()
	}
	s.endAt(ends)
	s.ends.follow(run.N(), s.record, s.history.Trained())
	err = lab.Run(ctx, lab.Options{
		Peers: run.N(), Restarts: restartsOf(run.Config(), restarts),
		Command: func(rank, life int) *exec.Cmd { return s.peer(program, rank, file.resume || life > 0) },
		Spares:  spares(run),
		End:     s.ends.over,
		History: s.history,
		Event:   s.event,
		Log:     s.log,
	})
	if err != nil {
		if ctx.Err() != nil {
			s.sayStopped(again)
		}
		if peer, ok := errors.AsType[*lab.PeerError](err); ok && peer.Unmet && peer.Hint == "" {
			peer.Hint = "the run had not begun: start it again; with --restart " + strconv.Itoa(defaultRestart) + " a peer that dies is started anew"
		}
		return stopped(ctx, err)
	}
	finals, _ := s.results()
	models, err := worker.Models(s.folder, run.N(), finals)
	if err != nil {
		return err
	}
	if err := s.summarize(models); err != nil {
		return err
	}
	c.next(s.again(file, "sim"), s.whySim())
	return nil
}

// peer returns the command that starts a peer.
func (s *session) peer(program string, rank int, resume bool) *exec.Cmd {
	args := superviseArguments(s.c, s.folder.Path(runfolder.RunFile), rank)
	if resume {
		args = append(args, "--resume")
	}
	cmd := exec.Command(program, args...)
	cmd.Env = machine.ShareProcessors(os.Environ(), s.run.N())
	return cmd
}

// whySim says what a simulator makes of the run that has ended.
func (s *session) whySim() string {
	switch {
	case s.run.Timed():
		return "the same run in a simulator, whose times are its own"
	case s.looksAhead():
		return "a run of as many rounds in a simulator, whose step sizes follow from them: another digest"
	case s.bereft():
		return "the same run in a simulator, where nobody is lost: another digest"
	}
	return "the same run in a simulator: the same digest"
}

// bereft reports whether any peer has gone on without another one.
func (s *session) bereft() bool {
	return slices.ContainsFunc(s.records(), func(e record.Event) bool { return e.Edge.Weight == 0 })
}

// spares says without which peers a run goes on: under the policy reweight without
// those that died, and those that lost the others.
func spares(run *experiment.Run) func(lab.Failure) bool {
	if !run.Reweights() {
		return nil
	}
	return func(f lab.Failure) bool { return f.Died || f.Code == exitNetwork }
}

// superviseArguments are those of a peer that this program supervises.
func superviseArguments(c *console, path string, rank int) []string {
	args := []string{"run", path, "--rank", strconv.Itoa(rank), "--supervised"}
	if c.quiet {
		args = append(args, "--quiet")
	}
	for range c.verbose {
		args = append(args, "--verbose")
	}
	return args
}
