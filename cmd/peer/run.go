package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/peer"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/seat"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
)

func newRun(c *console) *cobra.Command {
	var file runFile
	var rank int
	var until []string
	var without string
	var supervised, hidden bool
	cmd := &cobra.Command{
		Use:   "run FILE [-- COMMAND...]",
		Short: "take part in a run as one peer, on a LAN",
		Long: `take part in a run as one peer, on a LAN

Start the same command with the same run file on every machine, in any order. Without
a roster in the file the peers find each other by mDNS; a join secret, the same on
every machine, says who belongs. Ctrl-C stops the run for all, and each peer says which
round is safe; the same command with --resume on all machines goes on, on each from the
newest folder that has a checkpoint of its peer. A second Ctrl-C ends the process at once.
Where the others go on without a machine that is down (faults.on_lost_neighbor: reweight),
the same command, without --resume, brings it back.
Where members come and go (membership.mode: view), one more machine joins a run that goes
on, and Ctrl-C on a machine leaves it: the others go on. With --until this machine stops
the run for all, as peer stop does: after a time, or at a loss or an accuracy of its own.
If all were switched off, --resume on one or all goes on from the newest state of one.
Members without a majority of voters wait. If the others never come back, end them with
Ctrl-C. Then --without-majority FOLDER begins another run from the model in a run folder.

COMMAND is your own script, where the run file says model.name: external. The peer starts it.`,
		Example: `  peer id secret lan.secret           once; copy it to every machine
  peer run lan-ring --set node.join_secret_file=lan.secret
  peer run torch.yaml -- python3 train.py
  peer run crew.yaml --without-majority runs/crew-20261128-083709
  peer run my-run.yaml --rank 3       with a roster: fail unless this machine is its entry 3`,
		Args: c.scripted(1, 1, &file.script),
		RunE: func(cmd *cobra.Command, args []string) error {
			if supervised {
				return runSupervised(cmd.Context(), c, &file, &peer.Supervised{Path: args[0], Rank: rank,
					Script: script.Options{Hidden: hidden}})
			}
			return runPeer(cmd.Context(), c, &file, args, peerFlags{rank, until, without})
		},
	}
	file.addFlags(cmd)
	file.addFaults(cmd)
	_ = cmd.Flags().MarkHidden("fault") // refused with advice
	file.addResume(cmd)
	c.addJSON(cmd)
	c.addDash(cmd)
	addUntil(cmd, &until)
	cmd.Flags().StringVar(&without, "without-majority", "",
		"go on from the model in a run folder, `dir`")
	cmd.Flags().IntVar(&rank, "rank", peer.AnyRank, "the `rank` that this peer must get")
	cmd.Flags().BoolVar(&supervised, "supervised", false, "take orders on standard input")
	cmd.Flags().BoolVar(&hidden, "hide-script", false, "keep the output of the script in its file")
	_ = cmd.Flags().MarkHidden("supervised")
	_ = cmd.Flags().MarkHidden("hide-script")
	cmd.Flags().Lookup("rank").DefValue = "any"
	return cmd
}

// peerFlags are what the user asks of one peer.
type peerFlags struct {
	rank  int // that it must get
	until []string
	// onward is the run folder of a run that has lost its majority, from which this one goes on; "" for none.
	onward string
}

// load loads the run file. It refuses flags that have no effect.
func (p peerFlags) load(file *runFile, args []string) (*configs.Loaded, session.Until, error) {
	ends, err := session.ParseUntil("run", p.until)
	if err != nil {
		return nil, ends, err
	}
	file.scored = ends.Targets.Accuracy > 0
	if file.resume && p.onward != "" {
		return nil, ends, errBoth
	}
	loaded, err := file.load(args)
	if err == nil && p.onward != "" && loaded.Config.Views() {
		var set []string
		if set, err = seat.Onward(p.onward, loaded.Config); err == nil {
			file.set = slices.Concat(set, file.set)
			loaded, err = file.load(args)
		}
	}
	switch {
	case err != nil:
	case loaded.Config.Views() && p.rank != peer.AnyRank:
		err = errStay
	case !loaded.Config.Views() && p.until != nil:
		err = errUntil
	case !loaded.Config.Views() && p.onward != "":
		err = errOnward
	}
	return loaded, ends, err
}

func runPeer(ctx context.Context, c *console, file *runFile, args []string, flags peerFlags) error {
	loaded, ends, err := flags.load(file, args)
	if err != nil {
		return err
	}
	secret, err := peer.Own(loaded, file.script, file.command("run"))
	if err != nil {
		return err
	}
	said := script.NewOutlet(c.err)
	run, child, err := peer.Assemble(ctx, loaded, session.Own,
		script.Options{Command: file.script, Out: said, Quiet: c.quiet, Log: c.logger(said)})
	if err != nil {
		return stopped(ctx, err)
	}
	defer child.Close()
	who, err := openKey(run)
	if err != nil {
		return err
	}
	defer who.Close()
	if cfg := run.Config(); cfg.Views() {
		return runMember(ctx, c, file, run, &member{secret, who, child, said, ends})
	}
	dir, run, err := file.resumed(run, who.ID())
	if err != nil {
		return loaded.Locate(err)
	}
	s, err := c.session(ctx, run, session.Options{Mode: "run", Dir: dir})
	if err != nil {
		return err
	}
	defer s.End()
	said.Lead(s.Display)
	if err := s.Folder.Mark(who.ID()); err != nil {
		return err
	}
	again := file.command("run", "--resume")
	c.loses(func() string { return s.Lost(again) })
	if file.resume {
		s.SayResumed()
	}
	options, err := peer.LANOptions(run, secret, s.Version)
	if err != nil {
		return err
	}
	if file.resume {
		options.Held = runfolder.Held(run.Config(), s.Folder.Dir)
	}
	options.Identity, options.Logger, options.Observe = who, c.logger(s.Display), s.Hear
	part := peer.Part{Session: s, Node: options, Rank: flags.rank, From: file.start(), Script: child,
		Locate: loaded.Locate}
	if err := part.Take(ctx); err != nil {
		c.sayEnded(ctx, s, again, err)
		return stopped(ctx, file.advise(s, who.ID(), err))
	}
	return c.summarize(s, nil, nil)
}

// openKey opens the key of this machine for a run.
func openKey(run *experiment.Run) (*identity.Identity, error) {
	path, err := peer.KeyPath(run.Config().Node.Key)
	if err != nil {
		return nil, err
	}
	return identity.Open(path)
}

// errStay refuses a flag of workers that stay.
var errStay = advice.Usage(errors.New("run: --rank has no effect where members come and go"),
	"start without it: a machine that comes back gets the state of another member")

// errBoth refuses two beginnings.
var errBoth = advice.Usage(errors.New("run: --resume and --without-majority are two ways to go on"),
	"give --resume where all machines were switched off: rounds and moments go on; give --without-majority where others "+
		"may still train")

// errUntil refuses an end on one machine of a run that has no way to tell the others.
var errUntil = advice.Usage(errors.New("run: --until works where members come and go (membership.mode: view)"),
	"leave it out, and stop the run for all with Ctrl-C; peer lab takes --until for any run")

// errOnward refuses a run whose workers have no majority to lose.
var errOnward = advice.Usage(errors.New("run: --without-majority works where members come and go "+
	"(membership.mode: view)"), "leave it out: with --resume a run of the same workers goes on from their checkpoints")

// A member is this machine in a run whose members come and go.
type member struct {
	secret string
	who    *identity.Identity
	script *script.Child  // nil: the model is built in
	said   *script.Outlet // of the script
	ends   session.Until
}

// kept returns what this machine has kept of a run that it resumes, nil for another run.
func (f *runFile) kept(run *experiment.Run, id string) (*seat.Kept, error) {
	if !f.resume {
		return nil, nil
	}
	if !experiment.KeepsMembers(run) {
		return nil, advice.Usage(errors.New("run: --resume: members of scripts and of adpsgd take no checkpoints"),
			f.command("run", "--without-majority", "FOLDER")+" begins another run from the model in a run folder; after peer "+
				"stop, "+f.command("run", "--set", "name=NEW", "--set", "train.from=FOLDER/peer-ID.safetensors")+" does")
	}
	if f.folder != "" {
		return seat.ReadKept(run, f.folder)
	}
	dir, err := runfolder.Find(run.Config(), id)
	if err != nil {
		return nil, runfolder.HintNothing(run.Config(), err)
	}
	return seat.ReadKept(run, dir)
}

// runMember takes part in a run whose members come and go. A signal leaves it: the others go on.
func runMember(ctx context.Context, c *console, file *runFile, run *experiment.Run, m *member) error {
	from, err := file.kept(run, m.who.ID())
	if err != nil {
		return err
	}
	if err := m.ends.Check(run); err != nil {
		return err
	}
	s, err := c.session(ctx, run, session.Options{Mode: "run"})
	if err != nil {
		return err
	}
	defer s.End()
	if m.ends != (session.Until{}) {
		s.EndAt(m.ends)
	}
	m.said.Lead(s.Display)
	if err := s.Folder.Mark(m.who.ID()); err != nil {
		return err
	}
	options, err := peer.LANOptions(run, m.secret, s.Version)
	if err != nil {
		return err
	}
	options.Identity, options.Logger, options.Observe = m.who, c.logger(s.Display), s.Event
	cfg := run.Config()
	c.resort.Extend(leaving + 3*time.Duration(cfg.Membership.Grace))
	c.loses(func() string { return "the others take this machine for dead after membership.grace, and go on" })
	result, err := seat.OnLAN(context.WithoutCancel(ctx), s, seat.Luggage{Script: m.script, From: from}, options,
		ctx.Done())
	s.Display.Close()
	if err != nil {
		return stopped(ctx, err)
	}
	if err := c.summarize(s, nil, result.Told()); err != nil {
		return err
	}
	c.say("%s", result)
	replays := m.script == nil && !run.Method().Asynchronous()
	if replays && result.Digest != "" { // the log of one that has left lacks the end of the run
		c.next(advice.Command("peer", "sim", s.Folder.Path(runfolder.RunFile), "--views", s.Folder.Dir),
			"the same run from its log of views: the same digest")
	}
	return stopped(ctx, nil)
}

// leaving is how long a member may take to leave before its process ends in any case, beside the grace.
const leaving = 20 * time.Second

// sayEnded tells which state of a run is safe that a signal or another worker has ended with err.
func (c *console) sayEnded(ctx context.Context, s *session.Session, again string, err error) {
	stop, byOther := errors.AsType[*node.StoppedError](err)
	switch {
	case byOther && stop.Diverged:
		c.lost.Store(nil)
		s.SayDiverged(stop.Rank)
	case byOther || ctx.Err() != nil:
		c.sayStopped(s, again)
	}
}

// advise handles the refusal of this peer by the others. It removes a folder that this start has made, so that --resume
// does not find it. A peer that came without its state learns where the state is.
func (f *runFile) advise(s *session.Session, id string, err error) error {
	refused, ok := errors.AsType[*node.RefusedError](err)
	if !ok {
		return err
	}
	s.Abandon()
	if refused.Reason != node.LostState || f.resume {
		return err
	}
	hint := "this peer has no checkpoint in " + s.Run.Config().Output.Dir +
		": copy the run folder of the machine whose place it takes, and name that folder with --resume; " +
		"or start on all machines without --resume"
	again := runFile{name: f.name, set: f.set, resume: true}
	if dir, gone := again.folderOf(s.Run, id); gone == nil {
		hint = fmt.Sprintf("%s goes on from the checkpoint in %s", f.command("run", "--resume"),
			runfolder.CheckpointsOf(s.Run.Config(), dir))
	}
	return advice.With(err, hint)
}
