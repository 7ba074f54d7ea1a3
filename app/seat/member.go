// Package seat runs one member of a run whose members come and go, with its folder. The member takes part, writes its
// model and the log of views, and comes back after it was taken for dead. A lab gathers the results of its members.
package seat

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/app/session"
	"gossiptrainer/app/status"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
	"gossiptrainer/node"
	"gossiptrainer/node/members"
)

// A Member is one member of a run whose members come and go. It takes part with its folder.
type Member struct {
	Run   *experiment.Run
	Dir   string             // gets model and views.jsonl
	Saver *runfolder.Saver   // of the model
	Hear  func(record.Event) // gets the events of this member, by its id
	Out   io.Writer          // gets messages to the user
	Meet  Meet
	// Process is the number of this process in a lab, 0 on a LAN.
	Process int
	// Seated hears the id of the member, Begins of each round that it begins. They may be nil.
	Seated func(id view.ID)
	Begins func(round int)
	// Script trains an external model; nil: the model is built in.
	Script *script.Child

	maker    *membership.Maker
	id       view.ID
	tale     tale
	clock    struct{ began, ended time.Time } // ended: the last round
	seat     *members.Seat
	last     record.Step
	scripted *script.Member
	scored   struct{ loss, accuracy float64 } // by the script, of the final model
	told     account
	keeper   *keeper // nil: it keeps no states
}

// A Result is the end of a member.
type Result struct {
	Run     string `json:"run"`
	Member  int    `json:"member"` // id
	End     string `json:"end"`    // finished or left
	Rounds  int    `json:"rounds"`
	Views   int    `json:"views"`
	Members int    `json:"members"`          // at the end of the run, 0 of one that has left
	Digest  string `json:"digest,omitempty"` // of the models of the members at the end
	File    string `json:"file"`             // with the member's own model
	Log     string `json:"log"`              // of views

	Final record.Final `json:"result"`
	Last  record.Step  `json:"last"` // step

	views  []record.Membership
	ids    []view.ID      // of the members at the end of this one, in ascending order
	done   []int          // the rounds of these, where this one has seen the end
	scores []record.Score // of these, by rank; none of scripts
}

// Told returns the views as far as the member knows them.
func (r *Result) Told() []record.Membership { return r.views }

// String describes the result for people.
func (r *Result) String() string {
	return fmt.Sprintf("member %d has %s after %s and %s: model %.8s in %s, the log of views in %s", r.Member, r.End,
		human.Count(r.Rounds, "round"), human.Count(r.Views, "view"), r.Final.Digest, r.File, r.Log)
}

// Take takes part until the run is over, or until the member has left, which it does when leave is closed. A member
// that was taken for dead keeps its model on disk, and comes back as a newcomer.
func (m *Member) Take(ctx context.Context, o node.Options, leave <-chan struct{}) (*Result, error) {
	var err error
	if m.maker, err = membership.NewMaker(m.Run); err != nil {
		return nil, err
	}
	m.maker.Before = m.score
	if k := m.keeper; k != nil {
		k.m = m
		defer k.busy.Wait()
	}
	m.enlist()
	m.told.run, m.told.rounds = m.Run.Config().Name, int(m.Run.Config().Train.Rounds)
	if m.told.folder, err = filepath.Abs(m.Dir); err != nil { // a client may run in another folder
		m.told.folder = m.Dir
	}
	for again := false; ; again = true {
		out, err := m.once(ctx, o, again, leave)
		if err != nil {
			m.dismiss(err)
			return nil, err
		}
		if out.Standing == member.Excluded && !closed(leave) {
			fmt.Fprintf(m.Out, "the others have gone on without this machine, which was member %d: its model is kept, and "+
				"it comes back as a newcomer\n", out.ID)
			continue
		}
		return m.result(out)
	}
}

// Stop lets the run end for all, at an exchange on which the members agree. Any goroutine may call it.
func (m *Member) Stop() { m.told.Stop() }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *Member) logPath() string { return runfolder.ViewsPath(m.Dir) }

// once takes part as one member, up to its end.
func (m *Member) once(
	ctx context.Context, o node.Options, again bool, leave <-chan struct{},
) (*members.Outcome, error) {
	n, err := node.New(o)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	m.told.begin(n)
	server, err := status.Open(m.Run.Config(), m.Dir, m.Process, &m.told, m.Out)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	if !again {
		fmt.Fprintf(m.Out, "this peer is %s at %s\n", n.ID(), strings.Join(n.Addrs(), " "))
	}
	waits, end := untilLeft(ctx, leave)
	defer end()
	at, err := m.Meet(waits, n, again)
	if err != nil {
		return nil, &node.NetworkError{Op: "join", Err: err}
	}
	dismissed, err := m.brief(waits, n, at)
	if err != nil {
		return nil, err
	}
	defer dismissed()
	seat, err := m.sit(n, at)
	if err != nil {
		return nil, err
	}
	m.id, m.clock.began, m.seat = seat.ID(), time.Now(), seat
	m.clock.ended, m.tale.told = m.clock.began, 0
	if m.scripted != nil {
		m.Script.Tell(int(m.id), m.Hear)
	}
	m.told.sit(seat)
	if m.Seated != nil {
		m.Seated(m.id)
	}
	out, err := seat.Run(ctx, leave)
	if err != nil {
		return nil, err
	}
	if out.Log == nil || m.maker.Latest(out.ID) == nil {
		return nil, &node.NetworkError{Op: "join", Err: errOver}
	}
	if err := m.keep(&out); err != nil {
		return nil, err
	}
	return &out, m.conclude(ctx, leave, &out)
}

var (
	errLeft = errors.New("stopped before the run had begun for this machine")
	errOver = errors.New("the run has ended before this machine took part in it: start a new one")
)

// untilLeft returns a context that ends when the user leaves, so that a machine that waits for others leaves at once.
func untilLeft(ctx context.Context, leave <-chan struct{}) (waits context.Context, end func()) {
	waits, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-leave:
			cancel(errLeft)
		case <-waits.Done():
		}
	}()
	return waits, func() { cancel(nil) }
}

// processOf returns the process of a node in the run that it has met.
func processOf(n *node.Node, at *members.Meeting) members.Peer {
	p := node.ProcessOf(n)
	p.Hello.Lineage = at.Lineage
	return p
}

// sit takes the place of the member.
func (m *Member) sit(n *node.Node, at *members.Meeting) (*members.Seat, error) {
	cfg := m.Run.Config()
	const floats = 4
	dim := int64(m.Run.Dim())
	parent, err := view.ParseParent(cfg.Membership.Parent)
	if err != nil {
		return nil, err
	}
	o := members.Options{Peer: processOf(n, at), Watch: m, Parent: parent, Member: member.Options{
		Maker: m.maker, Plan: m.maker.Plan(), Fewest: cfg.Membership.Min,
		Payload: experiment.Largest(m.Run) + floats*m.Run.Parameters() + 1<<16,
		Council: members.Times(council.Options{Seed: cfg.Seed, Base: m.maker.Base(), Margin: 1, Most: cfg.Membership.Max,
			Certain: m.maker.Certain()},
			time.Duration(cfg.Membership.Grace)),
	}, Coding: m.maker.Coding(func() view.ID { return m.id }), Keep: m.keeper.keeping(),
		MostState: 64*floats*dim + 1<<20}
	if m.Run.Method().Asynchronous() {
		o.Pairs = m.maker.Pairs()
	}
	if m.Script == nil {
		o.Test = func(id view.ID) members.Score {
			s, _ := m.maker.Latest(id).Test() // the result has the error
			return members.Score{Loss: s.Loss, Accuracy: s.Accuracy}
		}
	}
	m.tale.resumes = 0
	switch {
	case at.Place != nil:
		return members.Join(o, at.Place)
	case at.Founders == nil:
		from := m.keeper.from
		log, err := view.Resume(from.log, from.Report, at.Lineage)
		if err != nil {
			return nil, fmt.Errorf("--resume: %w", err)
		}
		m.tale.resumes = log.Last().View
		return members.Resume(o, log, from.State, from.Report.ID)
	}
	return members.Found(o, at.Founders, at.Self)
}

// enter writes a record to the log. A member that comes back begins the log again.
func (m *Member) enter(r view.Record) error {
	line, err := view.Append(nil, r)
	if err != nil {
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if r.View == 0 {
		how |= os.O_TRUNC
	}
	log, err := os.OpenFile(m.logPath(), how, runfolder.Readable)
	if err != nil {
		return err
	}
	_, err = log.Write(line)
	return errors.Join(err, log.Close())
}

// A tale is what the user is told of the views.
type tale struct {
	resumes int // the view in which the machine resumes the run, 0: it does not
	told    int // views
}

// tells counts a view that the user is told. The first one is that in which the machine takes part.
func (t *tale) tells(v int, takesPart bool) bool {
	if t.told > 0 || takesPart && v >= t.resumes {
		t.told++
		return true
	}
	return false
}

// View writes a record to the log. The user is told the views from the first one in which this machine takes part.
func (m *Member) View(r view.Record) {
	if err := m.enter(r); err != nil {
		fmt.Fprintf(m.Out, "view %d is not written: %v: it follows at the end\n", r.View, err)
	}
	if r.View == 0 && m.Begins != nil {
		m.Begins(0)
	}
	if m.scripted != nil {
		m.scripted.Hears(r)
	}
	why := r.Why
	if r.View == 0 {
		why = "the founders"
	}
	if p := r.Parent; p != nil {
		why += fmt.Sprintf(", who go on from view %d of lineage %d", p.View, p.Lineage)
	}
	text := fmt.Sprintf("view %d from exchange %d: %s: %s", r.View, r.First, human.Count(len(r.Members), "member"), why)
	if _, takesPart := r.Rank(m.id); m.tale.tells(r.View, takesPart) {
		if m.tale.told == 1 && r.View > 0 {
			fmt.Fprintf(m.Out, "%s came before this machine took part: %s has them\n", human.Count(r.View, "view"),
				filepath.Base(m.logPath()))
		}
		fmt.Fprintln(m.Out, text)
	}
	noted := membership.Noted(r)
	m.Hear(record.Event{Status: &record.Status{Rank: int(m.id), State: record.Training, Detail: text,
		Here: len(r.Members), View: &noted}})
}

// Round records a round.
func (m *Member) Round(k int, _ float32, took time.Duration) {
	if m.Begins != nil {
		m.Begins(k + 1)
	}
	sent, messages := m.seat.Sent()
	now := time.Now()
	m.last = m.maker.Latest(m.id).Step(record.Step{Round: k + 1, Time: now.Sub(m.clock.began), Compute: took,
		Wait: max(0, now.Sub(m.clock.ended)-took), Sent: sent, Messages: messages})
	m.clock.ended = now
	m.last.Rank = int(m.id)
	m.told.step(m.last)
	if every := m.Run.Config().Output.Every; every > 0 && (k+1)%every == 0 {
		step := m.last
		m.Hear(record.Event{Step: &step})
	}
}

// score records the score of the replica, if an evaluation is due.
func (m *Member) score(w *build.Member, k int, x []float32) error {
	s, due, err := w.Score(k, x)
	if err == nil && due {
		s.Rank = int(m.id)
		m.Hear(record.Event{Score: &s})
	}
	return err
}

// Status says what the member does.
func (m *Member) Status(state record.State, detail string) {
	if detail != "" {
		fmt.Fprintf(m.Out, "member %d: %s\n", m.id, detail)
	}
	m.Hear(record.Event{Status: &record.Status{Rank: int(m.id), State: state, Detail: detail}})
}

// keep writes the model, and the log as it was at the end.
func (m *Member) keep(out *members.Outcome) error {
	w := m.maker.Latest(out.ID)
	own := w.Model()
	x, digest := own.X, record.Digest(own.X)
	saved := m.Run.Files().Final(x, own.Statistics,
		record.Final{Rank: int(out.ID), Rounds: out.Rounds, Digest: hex.EncodeToString(digest[:])})
	space := runfolder.SpaceError{Dir: m.Dir, Key: "output.dir", What: "a final model", Need: int64(4 * len(x))}
	err := m.Saver.Save(space, func() error { return train.Write(runfolder.ModelPath(m.Dir, int(out.ID)), saved) })
	if err != nil {
		return err
	}
	return runfolder.WriteViews(m.logPath(), out.Log)
}

func (m *Member) result(out *members.Outcome) (*Result, error) {
	final, err := m.maker.Latest(out.ID).Final(record.Final{Rounds: out.Rounds, Sent: out.Sent, Messages: out.Messages,
		Time: time.Since(m.clock.began)})
	if err != nil {
		return nil, err
	}
	final.Rank = int(m.id)
	if m.Script != nil {
		final.Loss, final.Accuracy = m.scored.loss, m.scored.accuracy
	}
	r := &Result{Run: m.Run.Config().Name, Member: int(out.ID), End: "left", Rounds: out.Rounds,
		Views: out.Log.Len(), File: runfolder.ModelPath(m.Dir, int(out.ID)), Log: m.logPath(), Final: final, Last: m.last}
	r.views, r.ids = membership.Told(out.Log), out.Log.At(out.Log.Force(max(0, out.Rounds/m.maker.Plan().Every-1))).IDs()
	if out.Standing == member.Finished {
		digest := out.Digest()
		r.End, r.Members, r.Digest = "finished", len(out.Models), hex.EncodeToString(digest[:])
		r.ids = slices.Sorted(maps.Keys(out.Models))
		for rank, id := range r.ids {
			r.done = append(r.done, out.Done[id])
			if s := out.Scores[id]; m.Script == nil {
				r.scores = append(r.scores, record.Score{Rank: rank, Round: out.Done[id], Loss: s.Loss, Accuracy: s.Accuracy})
			}
		}
		r.Final.Stopped = stopped(out.Log)
	} else {
		r.Final.Stopped = "this machine has left"
		m.Hear(record.Event{Status: &record.Status{Rank: int(m.id), State: record.Finished, Detail: "left"}})
	}
	return r, nil
}

// stopped returns who has stopped the run, "" where it has done its rounds.
func stopped(log *view.Log) string {
	for v := log.Len() - 1; v >= 0; v-- {
		if r := log.At(v); r.End {
			return r.Why
		}
	}
	return ""
}

// concludes gives the session of a member on a LAN its result. It has no results of others.
func (r *Result) concludes(s *session.Session) error {
	run, err := experiment.Resized(s.Run, len(r.ids))
	if err != nil {
		return err
	}
	rank := max(0, slices.Index(r.ids, view.ID(r.Member)))
	final, last := r.Final, r.Last
	final.Rank, last.Rank = rank, rank
	end := session.Members{Run: run, Finals: []record.Final{final}, Digest: r.Digest, Rounds: r.done, Scores: r.scores}
	if last.Round > 0 {
		end.Last = append(end.Last, last)
	}
	for _, id := range r.ids {
		end.IDs = append(end.IDs, int(id))
	}
	s.Event(record.Event{Final: &r.Final}) // the record has members by their ids
	session.Remain(s, end)
	return nil
}

// An Introduce returns the peers that a member of a lab meets, the founders first, in the order of ranks.
type Introduce func(ctx context.Context, n *node.Node) ([]node.Peer, error)

// A Meet finds the place of a member among the others, the first time and after it was taken for dead.
type Meet func(ctx context.Context, n *node.Node, again bool) (*members.Meeting, error)

// Founder returns the Meet of a founder in a lab.
func Founder(introduce Introduce) Meet { return among(true, introduce) }

// Newcomer returns the Meet of a newcomer in a lab.
func Newcomer(introduce Introduce) Meet { return among(false, introduce) }

func among(founder bool, introduce Introduce) Meet {
	var others []node.Peer
	return func(ctx context.Context, n *node.Node, again bool) (*members.Meeting, error) {
		process := node.ProcessOf(n)
		if !again {
			var err error
			if others, err = introduce(ctx, n); err != nil {
				return nil, err
			}
		}
		if founder && !again {
			return members.Listed(process, others[:process.Hello.N])
		}
		return members.Ask(ctx, process, others)
	}
}

// A Luggage is what a machine brings into a run on a LAN.
type Luggage struct {
	Script *script.Child // trains an external model; nil: the model is built in
	From   *Kept         // of a run that the machine resumes; nil: nothing
}

// OnLAN is Take for a peer on a LAN, with the session of its user.
func OnLAN(
	ctx context.Context, s *session.Session, own Luggage, o node.Options, leave <-chan struct{},
) (*Result, error) {
	from := own.From
	o.Contacts, o.Roster = members.Contacts(o.Roster), nil // those to call where there is no multicast
	m := Member{Run: s.Run, Script: own.Script, Dir: s.Folder.Dir, Saver: s.Saver, Hear: s.Event, Out: s.Display,
		keeper: &keeper{from: from}, Meet: func(ctx context.Context, n *node.Node, again bool) (*members.Meeting, error) {
			if from != nil && !again {
				return members.Return(ctx, node.ProcessOf(n), from.Exchange)
			}
			return members.Meet(ctx, node.ProcessOf(n))
		}}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-s.Over():
			m.Stop()
		case <-over:
		}
	}()
	r, err := m.Take(ctx, o, leave)
	if err == nil {
		err = r.concludes(s)
	}
	return r, err
}
