package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
)

func newLab(c *console) *cobra.Command {
	var l labFlags
	cmd := &cobra.Command{
		Use:        "lab [FILE] [-- COMMAND...]",
		SuggestFor: []string{"try", "demo", "start", "train", "quickstart"},
		Short:      "train with all peers of a run as processes on this machine",
		Long: `train with all peers of a run as processes on this machine

FILE is a run file or the name of a preset; without it, it is ` + defaultPreset + `, or ` + scriptPreset + ` where a
COMMAND follows. The peers are libp2p hosts that talk over local sockets, as they would on a
LAN. A peer that dies is restarted from its newest checkpoint while the others wait.

A run may end before its rounds are over: when it has trained for a time, or when it has
reached a loss or an accuracy as a report sees it. All peers then finish the rounds that
one of them has begun; the result is that of a run of that many rounds.

COMMAND is your own script, where the run file says model.name: external. Each peer starts
it once, and its output stands above the table behind the rank of the peer. A terminal
shows that of worker 0, files and pipes get all. Folder scripts of the run has all of it.`,
		Example: `  peer lab
  peer lab ring8-fashion --set algorithm.bits=4
  peer lab my-run.yaml --json > summary.json
  peer lab my-run.yaml --until loss=0.4 --until time=10m
  peer lab -- python3 train.py --lr 0.1
  peer lab my-run.yaml --resume       resume the newest run of this file that has a checkpoint`,
		Args: c.scripted(0, 1, &l.file.script),
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), c, args) },
	}
	l.file.addFlags(cmd)
	l.file.addFaults(cmd)
	l.file.addResume(cmd)
	c.addJSON(cmd)
	c.addDash(cmd)
	addUntil(cmd, &l.until)
	cmd.Flags().StringVar(&l.restart, "restart", "", "`times` a minute that a dead peer is started again, or never")
	cmd.Flags().StringVar(&l.shown, "output", "",
		"scripts to show, `which`: all, none or a rank (default: 0 on a terminal)")
	cmd.Flags().Lookup("restart").DefValue = strconv.Itoa(peer.DefaultRestart)
	return cmd
}

// labFlags are what the user asks of a lab.
type labFlags struct {
	file           runFile
	restart, shown string
	until          []string
}

// run trains with all peers.
func (l *labFlags) run(ctx context.Context, c *console, args []string) error {
	all := peer.Lab{Resume: l.file.resume, Lost: exitNetwork, Script: peer.Scripts{Command: l.file.script},
		Quiet: c.quiet, Verbose: c.verbose}
	var err error
	if all.Restarts, err = peer.ParseRestart(l.restart); err != nil {
		return err
	}
	ends, err := session.ParseUntil("lab", l.until)
	if err != nil {
		return err
	}
	l.file.scored = ends.Targets.Accuracy > 0
	if l.shown != "" && l.file.script == nil {
		return advice.Usage(errors.New("--output without a script"),
			"leave it out, or name your script after --, as in peer lab FILE -- python3 train.py")
	}
	run, err := during(c, "preparing the run", func(*screen.Task) (*experiment.Run, error) {
		return l.file.assembleFor("lab", args)
	})
	if err != nil {
		return err
	}
	shown := "all"
	if screen.Interactive(c.in, c.err) { // where several that say the same hide each other
		shown = "0"
	}
	if all.Script.Shown, err = peer.ParseShown(cmp.Or(l.shown, shown), run.N()); err != nil {
		return err
	}
	if err := ends.Check(run); err != nil {
		return err
	}
	if cfg := run.Config(); cfg.Views() && (l.file.resume || l.restart != "") {
		return advice.Usage(errors.New("lab: --resume and --restart have no effect where members come and go"),
			"leave them out: --fault 'at=ROUND die=MEMBER' and 'at=ROUND join=1' say who goes and comes")
	}
	return c.runLab(ctx, &l.file, run, &all, ends)
}

func (c *console) runLab(ctx context.Context, file *runFile, run *experiment.Run, all *peer.Lab,
	ends session.Until) error {
	dir, err := file.folderOf(run, runfolder.OfLab)
	if err != nil {
		return err
	}
	s, err := c.session(ctx, run, session.Options{Mode: "lab", Dir: dir})
	if err != nil {
		return err
	}
	defer s.End()
	again := advice.Command(slices.Concat([]string{"peer", "lab", s.Folder.Dir, "--resume"}, script.After(file.script))...)
	c.loses(func() string { return s.Lost(again) })
	if file.resume {
		s.SayResumed()
	}
	s.EndAt(ends)
	all.Session = s
	still := screen.NewStandstill()
	c.job.Add(still.Part)
	all.Still = still.C
	var models score.Replicas
	var shown []record.Membership
	cfg := run.Config()
	if cfg.Views() {
		models, shown, err = all.RunMembers(ctx)
	} else {
		models, err = all.Run(ctx)
	}
	still.End()
	if err != nil {
		if ctx.Err() != nil {
			c.sayStopped(s, again)
		}
		return stopped(ctx, err)
	}
	if err := c.summarize(s, models, shown); err != nil {
		return err
	}
	if cfg.Views() && (cfg.External() || run.Method().Asynchronous()) { // no log of views replays it
		return nil
	}
	if cfg.Views() {
		c.next(advice.Command("peer", "sim", s.Folder.Path(runfolder.RunFile), "--views", s.Folder.Dir),
			"the same run from its log of views: the same digest")
		return nil
	}
	if file.script == nil {
		c.next(file.again(s, "sim"), all.WhySim())
	}
	return nil
}
