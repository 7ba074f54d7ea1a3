package peer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
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
	// Seated hears the id of the member, Begins of each round that it begins. They may be nil.
	Seated func(id view.ID)
	Begins func(round int)

	maker *crew.Maker
	id    view.ID
	rank  atomic.Int64 // in the last view that is known
	log   *os.File
	began time.Time
	seat  *members.Seat
	last  record.Step
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
	File    string `json:"file"`             // with the member's own model
	Log     string `json:"log"`              // of views

	Final record.Final `json:"result"` // by its rank in the last view
	Last  record.Step  `json:"last"`   // step
}

// Write writes the result for people.
func (r *CrewResult) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "member %d has %s after %s and %s: model %.8s in %s\n", r.Member, r.End,
		plural.Of(r.Rounds, "round"), plural.Of(r.Views, "view"), r.Final.Digest, r.File)
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
	c.maker.Before = c.score
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
	c.id, c.began, c.seat = seat.ID(), time.Now(), seat
	c.rank.Store(int64(c.id))
	if c.Seated != nil {
		c.Seated(c.id)
	}
	out, err := seat.Run(ctx, leave)
	if err != nil {
		return nil, err
	}
	if out.Log == nil || c.maker.Latest(out.ID) == nil {
		return nil, &node.NetworkError{Op: "join", Err: errors.New("the run has ended before this machine took part in it")}
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
		c.rank.Store(int64(rank))
	}
	if r.View == 0 && c.Begins != nil {
		c.Begins(0)
	}
	why := r.Why
	if r.View == 0 {
		why = "the founders"
	}
	text := fmt.Sprintf("view %d from exchange %d: %s: %s", r.View, r.First, plural.Of(len(r.Members), "member"), why)
	fmt.Fprintln(c.Out, text)
	c.Hear(record.Event{Status: &record.Status{Rank: int(c.rank.Load()), State: record.Training, Detail: text}})
}

// Round records a round.
func (c *Crew) Round(k int, _ float32, took time.Duration) {
	if c.Begins != nil {
		c.Begins(k + 1)
	}
	sent, messages := c.seat.Sent()
	c.last = c.maker.Latest(c.id).Step(record.Step{Round: k + 1, Time: time.Since(c.began), Compute: took, Sent: sent,
		Messages: messages})
	c.last.Rank = int(c.rank.Load())
	if every := c.Run.Config().Output.Every; every > 0 && (k+1)%every == 0 {
		step := c.last
		c.Hear(record.Event{Step: &step})
	}
}

// score records the score of the replica, if an evaluation is due.
func (c *Crew) score(m *experiment.Member, k int) error {
	s, due, err := m.Score(k)
	if err == nil && due {
		s.Rank = int(c.rank.Load())
		c.Hear(record.Event{Score: &s})
	}
	return err
}

// Status says what the member does.
func (c *Crew) Status(state record.State, detail string) {
	if detail != "" {
		fmt.Fprintf(c.Out, "member %d: %s\n", c.id, detail)
	}
	c.Hear(record.Event{Status: &record.Status{Rank: int(c.rank.Load()), State: state, Detail: detail}})
}

// keep writes the model, and the log as it was at the end.
func (c *Crew) keep(out *members.Outcome) error {
	w := c.maker.Latest(out.ID)
	own := w.Model()
	x, digest := own.X, record.Digest(own.X)
	saved := c.Run.SavedModel(x, own.Statistics)
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
	final, err := c.maker.Latest(out.ID).Final(record.Final{Rounds: out.Rounds, Sent: out.Sent, Messages: out.Messages,
		Time: time.Since(c.began)})
	if err != nil {
		return nil, err
	}
	final.Rank = int(c.rank.Load())
	r := &CrewResult{Run: c.Run.Config().Name, Member: int(out.ID), End: "left", Rounds: out.Rounds,
		Views: out.Log.Len(), File: runfolder.ModelPath(c.Dir, int(out.ID)), Log: c.logPath(), Final: final, Last: c.last}
	if out.Standing == member.Finished {
		digest := out.Digest()
		r.End, r.Members, r.Digest = "finished", len(out.Models), hex.EncodeToString(digest[:])
	}
	return r, nil
}

// TakeCrew is Take for a peer on a LAN, with the session of its user.
func TakeCrew(ctx context.Context, s *session.Session, o node.Options, leave <-chan struct{}) (*CrewResult, error) {
	c := Crew{Run: s.Run, Dir: s.Folder.Dir, Saver: s.Saver, Hear: s.Event, Out: s.Display,
		Meet: func(ctx context.Context, n *node.Node, _ bool) (*node.Meeting, error) { return node.Meet(ctx, n, 0) }}
	r, err := c.Take(ctx, o, leave)
	if err == nil {
		s.Event(record.Event{Final: &r.Final})
	}
	return r, err
}
