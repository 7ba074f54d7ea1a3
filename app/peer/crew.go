package peer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/crew"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/plural"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
	"gossiptrainer/node"
	"gossiptrainer/node/members"
)

// A Crew is one member of a run whose members come and go. It takes part with its folder.
type Crew struct {
	Run   *experiment.Run
	Dir   string             // gets model and views.jsonl
	Saver *runfolder.Saver   // of the model
	Hear  func(record.Event) // gets the events of this member, by its rank in the view
	Out   io.Writer          // gets messages to the user
	// Meet finds the place of the member among the others, the first time and after it was taken for dead.
	Meet func(ctx context.Context, n *node.Node, again bool) (*node.Meeting, error)
	// Begins hears of each round that the member begins; nil: nobody does.
	Begins func(id view.ID, round int)

	maker *crew.Maker
	id    view.ID
	rank  int
	log   *os.File
	began time.Time
	sent  func() record.Bytes
}

// A CrewResult is the end of a member.
type CrewResult struct {
	Run     string `json:"run"`
	Member  int    `json:"member"` // id
	End     string `json:"end"`    // finished or left
	Rounds  int    `json:"rounds"`
	Views   int    `json:"views"`
	Members int    `json:"members"`          // at the end of the run, 0 of one that has left
	Digest  string `json:"digest,omitempty"` // of the models of the members at the end
	Model   string `json:"model"`            // digest of the member's own
	File    string `json:"file"`             // with that model
	Log     string `json:"log"`              // of views
}

// Write writes the result for people.
func (r *CrewResult) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "member %d has %s after %s and %s: model %.8s in %s\n", r.Member, r.End,
		plural.Of(r.Rounds, "round"), plural.Of(r.Views, "view"), r.Model, r.File)
	if err == nil && r.Digest != "" {
		_, err = fmt.Fprintf(w, "%s at the end, digest %s\n", plural.Of(r.Members, "member"), r.Digest)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "the log of views: %s\n", r.Log)
	}
	return err
}

// Take takes part until the run is over, or until the member has left, which it does when leave is closed. A member
// that was taken for dead keeps its model on disk, and comes back as a newcomer.
func (c *Crew) Take(ctx context.Context, o node.Options, leave <-chan struct{}) (*CrewResult, error) {
	var err error
	if c.maker, err = crew.NewMaker(c.Run); err != nil {
		return nil, err
	}
	if c.log, err = os.Create(c.logPath()); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	defer c.log.Close()
	for again := false; ; again = true {
		out, err := c.once(ctx, o, again, leave)
		if err != nil {
			return nil, err
		}
		if out.Standing == member.Excluded && !closed(leave) {
			fmt.Fprintf(c.Out, "the others have gone on without this machine, which was member %d: its model is kept, and it "+
				"comes back as a newcomer\n", out.ID)
			continue
		}
		return c.result(out)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c *Crew) logPath() string { return runfolder.ViewsPath(c.Dir) }

// once takes part as one member, up to its end.
func (c *Crew) once(ctx context.Context, o node.Options, again bool, leave <-chan struct{}) (*members.Outcome, error) {
	n, err := node.New(o)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	if !again {
		fmt.Fprintf(c.Out, "this peer is %s at %s\n", n.ID(), strings.Join(n.Addrs(), " "))
	}
	waits, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // one that waits for others leaves at once
		select {
		case <-leave:
			cancel(errLeft)
		case <-stop:
		}
	}()
	at, err := c.Meet(waits, n, again)
	if err != nil {
		return nil, err
	}
	seat, err := c.sit(n, at)
	if err != nil {
		return nil, err
	}
	c.id, c.rank, c.began = seat.ID(), int(seat.ID()), time.Now()
	c.sent = seat.Sent
	out, err := seat.Run(ctx, leave)
	if err != nil {
		return nil, err
	}
	if out.Log == nil || c.maker.Latest(out.ID) == nil {
		return nil, errors.New("the run has ended before this machine took part in it")
	}
	return &out, c.keep(&out)
}

var errLeft = errors.New("stopped before the run had begun for this machine")

// sit takes the place of the member.
func (c *Crew) sit(n *node.Node, at *node.Meeting) (*members.Seat, error) {
	cfg := c.Run.Config()
	const floats = 4
	dim := int64(c.Run.Dim())
	o := members.Options{Peer: node.Member(n), Watch: c, Member: member.Options{
		Maker: c.maker, Plan: c.maker.Plan(), Fewest: cfg.Membership.Min,
		Council: members.Times(council.Options{Seed: cfg.Seed, Base: c.maker.Base(), Margin: 1, Most: cfg.Membership.Max},
			time.Duration(cfg.Membership.Grace)),
	}, MostPayload: int(4*floats*dim) + 1<<16, MostState: 64*floats*dim + 1<<20}
	if at.Place != nil {
		return members.Join(o, at.Place)
	}
	return members.Found(o, at.Founders, at.Self)
}

// View writes a record to the log, and says it.
func (c *Crew) View(r view.Record) {
	if r.View == 0 {
		_ = c.log.Truncate(0)
		_, _ = c.log.Seek(0, io.SeekStart)
	}
	line, err := view.Append(nil, r)
	if err == nil {
		_, err = c.log.Write(line)
	}
	if err != nil {
		fmt.Fprintf(c.Out, "view %d is not written: %v: it follows at the end\n", r.View, err)
	}
	if rank, member := r.Rank(c.id); member {
		c.rank = int(rank)
	}
	why := r.Why
	if r.View == 0 {
		why = "the founders"
	}
	text := fmt.Sprintf("view %d from exchange %d: %s: %s", r.View, r.First, plural.Of(len(r.Members), "member"), why)
	fmt.Fprintln(c.Out, text)
	c.Hear(record.Event{Status: &record.Status{Rank: c.rank, State: record.Training, Detail: text}})
}

// Round records a round.
func (c *Crew) Round(k int, loss float32, took time.Duration) {
	if c.Begins != nil {
		c.Begins(c.id, k+1)
	}
	every := c.Run.Config().Output.Every
	if every > 0 && (k+1)%every == 0 {
		c.Hear(record.Event{Step: &record.Step{Rank: c.rank, Round: k + 1, Time: time.Since(c.began), Loss: float64(loss),
			Compute: took, Sent: c.sent()}})
	}
}

// Status says what the member does.
func (c *Crew) Status(state record.State, detail string) {
	if detail != "" {
		fmt.Fprintf(c.Out, "member %d: %s\n", c.id, detail)
	}
	c.Hear(record.Event{Status: &record.Status{Rank: c.rank, State: state, Detail: detail}})
}

// keep writes the model, and the log as it was at the end.
func (c *Crew) keep(out *members.Outcome) error {
	w := c.maker.Latest(out.ID)
	x := w.Machine().Params()
	saved := c.Run.SavedModel(x, nil)
	digest := record.Digest(x)
	saved.Metadata[experiment.MetaRank] = strconv.Itoa(int(out.ID))
	saved.Metadata[experiment.MetaRounds] = strconv.Itoa(out.Rounds)
	saved.Metadata[experiment.MetaDigest] = hex.EncodeToString(digest[:])
	space := runfolder.SpaceError{Dir: c.Dir, Key: "output.dir", What: "a final model", Need: int64(4 * len(x))}
	err := c.Saver.Save(space, func() error { return train.Write(runfolder.ModelPath(c.Dir, int(out.ID)), saved) })
	if err != nil {
		return err
	}
	return runfolder.WriteViews(c.Dir, out.Log)
}

func (c *Crew) result(out *members.Outcome) (*CrewResult, error) {
	model := record.Digest(c.maker.Latest(out.ID).Machine().Params())
	r := &CrewResult{Run: c.Run.Config().Name, Member: int(out.ID), End: "left", Rounds: out.Rounds,
		Views: out.Log.Len(), Model: hex.EncodeToString(model[:]), File: runfolder.ModelPath(c.Dir, int(out.ID)),
		Log: c.logPath()}
	if out.Standing == member.Finished {
		digest := out.Digest()
		r.End, r.Members, r.Digest = "finished", len(out.Models), hex.EncodeToString(digest[:])
	}
	c.Hear(record.Event{Final: &record.Final{Rank: c.rank, Rounds: out.Rounds, Loss: math.NaN(), Accuracy: math.NaN(),
		Digest: r.Model, Sent: out.Sent, Messages: out.Messages, Time: time.Since(c.began)}})
	c.Hear(record.Event{Status: &record.Status{Rank: c.rank, State: record.Finished}})
	return r, nil
}

// TakeCrew is Take for a peer on a LAN, with the session of its user.
func TakeCrew(ctx context.Context, s *session.Session, o node.Options, leave <-chan struct{}) (*CrewResult, error) {
	c := Crew{Run: s.Run, Dir: s.Folder.Dir, Saver: s.Saver, Hear: s.Event, Out: s.Display,
		Meet: func(ctx context.Context, n *node.Node, _ bool) (*node.Meeting, error) { return node.Meet(ctx, n, 0) }}
	return c.Take(ctx, o, leave)
}
