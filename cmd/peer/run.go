package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/app/status"
	"gossiptrainer/internal/app/worker"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
)

func newRun(c *console) *cobra.Command {
	var file runFile
	var rank int
	var supervised bool
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "take part in a run as one peer, on a LAN",
		Long: `take part in a run as one peer, on a LAN

Start the same command with the same run file on every machine, in any order. Without
a roster in the file the peers find each other by mDNS; a join secret, the same on
every machine, says who belongs. Ctrl-C stops the run for all, and each peer says which
round is safe; the same command with --resume on all machines goes on, on each from the
newest folder that has a checkpoint of its peer. A second Ctrl-C ends the process at once.
Where the others go on without a machine that is down (faults.on_lost_neighbor: reweight),
the same command, without --resume, brings it back.`,
		Example: `  peer id secret lan.secret           once; copy it to every machine
  peer run lan-ring --set node.join_secret_file=lan.secret
  peer run my-run.yaml --rank 3       with a roster: fail unless this machine is its entry 3`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if supervised {
				return runSupervised(cmd.Context(), c, &file, args[0], rank)
			}
			return runPeer(cmd.Context(), c, &file, args, rank)
		},
	}
	file.addFlags(cmd)
	file.addResume(cmd)
	c.addJSON(cmd)
	cmd.Flags().IntVar(&rank, "rank", anyRank, "the `rank` that this peer must get")
	cmd.Flags().BoolVar(&supervised, "supervised", false, "take orders on standard input")
	_ = cmd.Flags().MarkHidden("supervised")
	cmd.Flags().Lookup("rank").DefValue = "any"
	return cmd
}

// anyRank stands for whatever rank the roster or the roll call gives.
const anyRank = -1

func runPeer(ctx context.Context, c *console, file *runFile, args []string, rank int) error {
	run, secret, err := file.assembleOwn(args)
	if err != nil {
		return err
	}
	path, err := keyPath(run.Config().Node.Key)
	if err != nil {
		return err
	}
	who, err := node.OpenIdentity(path)
	if err != nil {
		return err
	}
	defer who.Close()
	dir, err := file.folderOf(run, who.ID())
	if err != nil {
		return err
	}
	s, err := c.resume(ctx, run, "run", dir)
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.folder.Mark(who.ID()); err != nil {
		return err
	}
	again := file.command("run", "--resume")
	s.canGoOn(again)
	if file.resume {
		s.sayResumed()
	}
	options, err := lanOptions(run, secret)
	if err != nil {
		return err
	}
	options.Identity, options.Logger, options.Observe = who, c.logger(s.display), s.hear
	if err := s.takePart(ctx, options, rank, file.start()); err != nil {
		if ctx.Err() != nil || isA[*node.StoppedError](err) {
			s.sayStopped(again)
		}
		return stopped(ctx, file.advise(s, who.ID(), err))
	}
	return s.summarize(nil)
}

// advise handles that the others refuse this peer. A folder that it has made for
// this start goes, so that --resume does not find it. A peer that has come without its state learns
// where that is.
func (f *runFile) advise(s *session, id string, err error) error {
	refused, ok := errors.AsType[*node.RefusedError](err)
	if !ok {
		return err
	}
	s.abandon()
	if refused.Reason != node.LostState || f.resume {
		return err
	}
	hint := "no checkpoint of this peer is in " + s.run.Config().Output.Dir +
		": stop the run on all machines, and start it on all of them without --resume"
	again := runFile{name: f.name, set: f.set, resume: true}
	if dir, gone := again.folderOf(s.run, id); gone == nil {
		hint = fmt.Sprintf("%s goes on from the checkpoint in %s", f.command("run", "--resume"), runfolder.CheckpointsOf(s.run.Config(), dir))
	}
	return advice.With(err, hint)
}

// nodeOptions are the options that a run file gives.
func nodeOptions(run *experiment.Run) node.Options {
	cfg := run.Config()
	o := node.Options{
		RunID: configs.RunID(cfg.Name), N: run.N(), Dim: run.Dim(),
		Listen: cfg.Node.Listen, Detect: time.Duration(cfg.Node.Detect),
		Transport: cfg.Node.Transport, Security: cfg.Node.Security, Network: run.Network(),
	}
	for _, s := range run.Sections() {
		o.Sections = append(o.Sections, node.Section{Name: s.Name, JSON: s.JSON})
	}
	for _, p := range cfg.Peers {
		o.Roster = append(o.Roster, node.Peer{ID: p.ID, Addrs: p.Addrs})
	}
	return o
}

// takePart joins the others, trains, and waits for everybody's results, which
// come as events.
func (s *session) takePart(ctx context.Context, o node.Options, rank int, from checkpoints.Start) error {
	n, err := node.New(o)
	if err != nil {
		return err
	}
	defer n.Close()
	desk, err := status.Open(s.run.Config(), s.folder.Dir, 0, n, s.display)
	if err != nil {
		return err
	}
	defer desk.Close()
	fmt.Fprintf(s.display, "this peer is %s at %s\n", n.ID(), strings.Join(n.Addrs(), " "))
	given, err := n.Join(ctx)
	if err != nil {
		return err
	}
	if rank != anyRank && int(given) != rank {
		return advice.Usage(
			fmt.Errorf("run: --rank %d: this peer has rank %d", rank, given),
			"the rank follows from the key: by the roster, or by the order of the peer ids",
		)
	}
	s.belong(given)
	store := checkpoints.New(s.run, s.folder.Dir, given, o.Logger)
	defer store.Close()
	w, kept, err := store.Open(from)
	if err != nil {
		return err
	}
	final, err := worker.Train(ctx, n, s.run, w, worker.Options{
		Results: worker.Results{Dir: s.folder.Dir, Saver: s.saver}, Observe: s.hear, Checkpoints: kept,
	})
	if err != nil {
		return err
	}
	_, err = n.Finish(ctx, final)
	return err
}
