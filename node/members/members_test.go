package members

import (
	"context"
	flags "flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

func TestMain(m *testing.M) {
	_ = flags.Set("test.parallel", "8") // unless the command says more: machines wait, and seldom for a core
	m.Run()
}

// A job is a small run: the objective of a member depends on its id and its rank.
type job struct {
	dim, rounds int
	kind        topology.Kind
	pause       time.Duration // of a gradient
	verified    bool          // Moniqua at 4 bits with a theta far too small
	pairs       bool          // members meet in pairs
	coder       entropy.Coder
}

func (j job) base() topology.Spec { return topology.Spec{Kind: j.kind, Slack: 0.75, Seed: 5} }

func (j job) plan() retrace.Plan { return retrace.Plan{Rounds: j.rounds, Every: 1} }

// A maker makes the members of a job, and keeps their last models.
type maker struct {
	job
	mu     sync.Mutex
	latest map[views.ID]*worker
	rounds int // begun by any of them
}

type worker struct {
	m       *maker
	place   retrace.Place
	machine *gossip.Worker
}

func (w *worker) Machine() *gossip.Worker { return w.machine }
func (w *worker) Save(*state.Snapshot)    {}

func (w *worker) Gradient(k int, x []float32) ([]float32, float32, error) {
	<-time.After(w.m.pause)
	w.m.mu.Lock()
	w.m.rounds = max(w.m.rounds, k)
	w.m.mu.Unlock()
	g := make([]float32, len(x))
	for i := range g {
		a := 0.25 + float32((int(w.place.ID)*7+i*3)%5)/4
		g[i] = a*x[i] - float32((int(w.place.ID)*5+w.place.Rank+i+k)%7) + 3
	}
	return g, float32(k), nil
}

func (m *maker) Enter(p retrace.Place) (retrace.Member, error) {
	x := make([]float32, m.dim)
	for i := range x {
		x[i] = float32(int(p.ID)+i) / 4
	}
	a := &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0.125 }, Codec: algos.Full{}}
	if m.verified {
		codec, err := moniqua.New(16, moniqua.Stochastic, func(int) float64 { return 0.05 }, 7, p.ID)
		if err != nil {
			return nil, err
		}
		codec.Verify, a.Codec = true, codec
	}
	schedule := gossip.Schedule{Rounds: p.Rounds, Every: 1}
	w := &worker{m: m, place: p}
	var err error
	if p.State == nil {
		w.machine, err = gossip.NewScheduled(p.ID, p.Rows, a, schedule)
	} else {
		w.machine, err = gossip.Enter(p.ID, p.Rows, a, schedule, p.Entrance)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[p.ID] = w
	return w, err
}

// begun returns the largest round that any member of the maker has begun.
func (m *maker) begun() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rounds
}

// A machine is a peer of a test.
type machine struct {
	Peer
	maker     *maker
	who       *identity.Identity
	watch     *watch
	seat      *Seat
	leave     chan struct{}
	kill      context.CancelFunc
	mostState int64         // bytes
	parent    *views.Parent // of the run that it resumes
	kept      *member.Kept
	done      chan struct{}
	out       Outcome
	err       error
}

// A watch keeps what a member says.
type watch struct {
	mu     sync.Mutex
	views  []views.Record
	said   []string
	rounds int
}

func (w *watch) View(r views.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views = append(w.views, r)
}

func (w *watch) Round(k int, _ float32, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds = k + 1
}

func (w *watch) Status(_ record.State, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, detail)
}

// says reports whether the member has said a text.
func (w *watch) says(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, text) })
}

// known returns how many views the member knows.
func (w *watch) known() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.views)
}

const secret = "correct horse battery staple 7"

// newMachine returns a peer with a host on loopback.
func newMachine(t *testing.T, j job, secret string) *machine {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{maker: &maker{job: j, latest: map[views.ID]*worker{}}, who: who, watch: new(watch),
		leave: make(chan struct{}), done: make(chan struct{}), mostState: 1 << 20}
	m.Log, m.Refused = slog.New(slog.DiscardHandler), new(socket.Refusals)
	m.Gate = join.NewGate(8, m.Refused, m.Log)
	m.Host, err = socket.New(socket.Config{Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 8,
		Gate: m.Gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && m.seat != nil {
			t.Logf("member %d: standing %v, error %v, %+v, said %q", m.seat.ID(), m.out.Standing, m.err,
				m.seat.Vitals(), m.watch.said)
		}
		m.Host.Close()
	})
	t.Cleanup(m.Gate.Close)
	m.Admission = &handshake.Admission{Self: m.Host.ID(), Run: "crew", Secret: []byte(secret)}
	m.Hello = handshake.Hello{N: 3, Dim: j.dim, Rank: handshake.Unranked, Durable: gossip.Undurable, Epoch: rand.Uint64()}
	m.Hello.Declare([]handshake.Section{{Name: "train", JSON: fmt.Appendf(nil, `{"rounds":%d}`, j.rounds)}})
	return m
}

// grace is long for a loaded machine. Tests that wait for a death wait side by side.
const grace = 6 * time.Second

func (m *machine) options() Options {
	j := m.maker.job
	layout := func(f gossip.Frame) quant.Layout { return quant.Floats(len(f.Payload) / 4) }
	test := func(id views.ID) Score { return Score{Loss: float64(id), Accuracy: math.NaN()} }
	o := Options{Peer: m.Peer, Watch: m.watch, Test: test,
		Keep:      Keeping{Take: func(k member.Kept) { m.kept = &k }},
		Coding:    work.Coding{Entropy: j.coder, Layout: layout},
		MostState: m.mostState, Member: member.Options{Payload: 1 << 20,
			Maker: m.maker, Plan: j.plan(), Fewest: 1,
			Council: Times(council.Options{Seed: 7, Base: j.base(), Margin: 1, Most: 8}, grace),
		}}
	if j.pairs {
		o.Pairs = pairMaker{m.maker}
	}
	return o
}

func (m *machine) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m.kill = cancel
	t.Cleanup(func() { cancel(); <-m.done })
	go func() {
		defer close(m.done)
		m.out, m.err = m.seat.Run(ctx, m.leave)
	}()
}

// founded starts n founders.
func founded(t *testing.T, j job, n int) []*machine {
	t.Helper()
	var all []*machine
	for range n {
		all = append(all, newMachine(t, j, secret))
	}
	found(t, nil, all...)
	return all
}

// found lets machines found a run, which may have a parent.
func found(t *testing.T, parent *views.Parent, all ...*machine) {
	t.Helper()
	var founders []views.Member
	for i, m := range all {
		founders = append(founders, views.Member{ID: views.ID(i), Name: fmt.Sprint("m", i), Key: m.Host.ID().String(),
			Address: addressOf(m.Host.Addrs())})
	}
	for i, m := range all {
		o := m.options()
		o.Parent, o.Hello.Lineage = parent, all[0].Hello.Epoch
		var err error
		if m.seat, err = Found(o, founders, views.ID(i)); err != nil {
			t.Fatal(err)
		}
		m.run(t)
	}
}

// joins lets one more machine join by way of others.
func joins(t *testing.T, m *machine, by ...*machine) {
	t.Helper()
	found := make(chan peer.AddrInfo, len(by))
	for _, b := range by {
		found <- peer.AddrInfo{ID: b.Host.ID(), Addrs: b.Host.Addrs()}
	}
	g := guest{Peer: m.Peer, process: m.Hello.Epoch}
	at, err := g.find(t.Context(), found)
	if err != nil {
		t.Fatal(err)
	}
	if m.seat, err = Join(m.options(), at); err != nil {
		t.Fatal(err)
	}
	m.run(t)
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for range 24_000 { // two minutes: a machine may be busy
		if ok() {
			return
		}
		<-look.C
	}
	t.Fatalf("%s: did not happen", what)
}

// finished waits for the end of machines, and compares their models with the replay of their log.
func finished(t *testing.T, all ...*machine) *views.Log {
	t.Helper()
	var log *views.Log
	for i, m := range all {
		<-m.done
		if m.err != nil || m.out.Standing != member.Finished {
			t.Fatalf("machine %d: standing %v, error %v", i, m.out.Standing, m.err)
		}
		if m.out.Digest() != all[0].out.Digest() || len(m.out.Models) != len(all) {
			t.Errorf("machine %d: digest %x of %d models, want %x", i, m.out.Digest(), len(m.out.Models), all[0].out.Digest())
		}
		log = m.out.Log
	}
	again := &maker{job: all[0].maker.job, latest: map[views.ID]*worker{}}
	again.pause = 0
	if err := retrace.Run(log, again, again.plan(), retrace.Unwatched{}); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		id := m.out.ID
		if s := all[0].out.Scores[id]; s.Loss != float64(id) || !math.IsNaN(s.Accuracy) {
			t.Errorf("member %d has the score %v, want its id as the loss", id, s)
		}
		if got, want := m.maker.latest[id].machine.Params(), again.latest[id].machine.Params(); !slices.Equal(got, want) {
			t.Errorf("member %d ends with another model than in the replay of the log", id)
		}
		if record.Digest(again.latest[id].machine.Params()) != m.out.Models[id] {
			t.Errorf("member %d: its digest is not that of the replay", id)
		}
	}
	return log
}

func reasons(log *views.Log) (all []string) {
	for v := range log.Len() {
		all = append(all, log.At(v).Why)
	}
	return all
}

func TestFoundersTrain(t *testing.T) {
	all := founded(t, job{dim: 10, rounds: 50, kind: topology.Ring}, 3)
	log := finished(t, all...)
	if log.Len() != 1 || all[0].watch.rounds != 50 {
		t.Errorf("%d views, %d rounds seen", log.Len(), all[0].watch.rounds)
	}
}

// Requests and repairs travel as messages do.
func TestMembersRepair(t *testing.T) {
	all := founded(t, job{dim: 10, rounds: 40, kind: topology.Ring, verified: true}, 3)
	finished(t, all...)
}

// A leave in the last rounds comes in time or not. In both cases all end, and those at the end say the same.
func TestALeaveAtTheEnd(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 10, rounds: 60, kind: topology.Ring, pause: 5 * time.Millisecond}, 4)
	until(t, "the last rounds", func() bool { return all[2].maker.begun() > 55 })
	close(all[2].leave)
	for i, m := range all {
		<-m.done
		if m.err != nil || m.out.Standing == member.Excluded || i != 2 && m.out.Digest() != all[0].out.Digest() {
			t.Errorf("machine %d: standing %v, error %v", i, m.out.Standing, m.err)
		}
	}
}

func TestAMachineJoins(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 400, kind: topology.Ring, pause: 5 * time.Millisecond}
	all := founded(t, j, 3)
	guest := newMachine(t, j, secret)
	joins(t, guest, all[1])
	log := finished(t, append(all, guest)...)
	if log.Len() != 2 || guest.out.ID != 3 || !strings.Contains(log.At(1).Why, "joins") {
		t.Errorf("views %v, the newcomer has id %d", reasons(log), guest.out.ID)
	}
}

func TestAMachineLeaves(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 100, rounds: 300, kind: topology.Ring, pause: 5 * time.Millisecond}, 3)
	until(t, "training", func() bool { return all[1].maker.begun() > 20 })
	close(all[1].leave)
	<-all[1].done
	if all[1].err != nil || all[1].out.Standing != member.Left {
		t.Fatalf("standing %v, error %v", all[1].out.Standing, all[1].err)
	}
	log := finished(t, all[0], all[2])
	if log.Len() != 2 || log.At(1).Why != "machine m1 left" {
		t.Errorf("views %v", reasons(log))
	}
}

func TestAMachineDies(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 100, rounds: 300, kind: topology.OnePeerExponential, pause: 5 * time.Millisecond}, 4)
	until(t, "training", func() bool { return all[0].maker.begun() > 20 })
	all[0].kill() // it may lead
	<-all[0].done
	log := finished(t, all[1:]...)
	if log.Len() != 2 || !strings.HasPrefix(log.At(1).Why, "machine m0 was silent for ") {
		t.Errorf("views %v", reasons(log))
	}
}

// Three of four vote. Two that hear no third one wait, say so, and go on when the others are back.
func TestAMinorityWaits(t *testing.T) {
	t.Parallel()
	all := founded(t, job{dim: 100, rounds: 400, kind: topology.Ring, pause: 5 * time.Millisecond}, 5)
	until(t, "training", func() bool { return all[0].maker.begun() > 20 })
	minority := all[:2] // of five voters
	cut := func(on bool) {
		for i, m := range all {
			apart := map[peer.ID]bool{}
			for k, other := range all {
				if on && (i < 2) != (k < 2) {
					apart[other.Host.ID()] = true
				}
			}
			m.Gate.Sever(apart)
			for id := range apart {
				m.Host.Network().ClosePeer(id)
			}
		}
	}
	cut(true)
	for _, m := range minority {
		until(t, "a minority that waits", func() bool { return m.watch.says("no majority of the voters is heard") })
	}
	until(t, "a majority that goes on", func() bool { return all[3].watch.known() == 2 })
	cut(false)
	for _, m := range minority {
		<-m.done
		if m.err != nil || m.out.Standing != member.Excluded {
			t.Errorf("standing %v, error %v: want excluded", m.out.Standing, m.err)
		}
	}
	log := finished(t, all[2:]...)
	if log.Len() != 2 || !strings.Contains(log.At(1).Why, "machine m1 was silent for ") {
		t.Errorf("views %v", reasons(log))
	}
}

// A machine that was taken for dead comes back with its key as another process.
func TestAMachineComesBack(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 600, kind: topology.Ring, pause: 5 * time.Millisecond}
	all := founded(t, j, 3)
	until(t, "training", func() bool { return all[0].maker.begun() > 20 })
	all[1].kill()
	<-all[1].done
	again := *all[1]
	again.Hello.Epoch++
	again.watch, again.leave, again.done = new(watch), make(chan struct{}), make(chan struct{})
	joins(t, &again, all[0], all[2])
	log := finished(t, all[0], all[2], &again)
	if again.out.ID != 3 || log.Last().Members[2].Name != log.At(0).Members[1].Name && log.Len() < 2 {
		t.Errorf("views %v, id %d", reasons(log), again.out.ID)
	}
}
