package build

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// A siege drives workers as drive does, but first delivers a changed copy of each message of the liar. If the receiver
// refuses it, the link is made again, as by a driver, and the original message arrives.
type siege struct {
	t       *testing.T
	all     []*Worker
	bad     func(payload []byte) []byte
	done    map[[3]int]bool // by receiver, round and hop
	refused int
}

func newSiege(t *testing.T, r *experiment.Run, bad func([]byte) []byte) *siege {
	return &siege{t: t, all: workers(t, r), bad: bad, done: map[[3]int]bool{}}
}

const liar = 1

func (s *siege) run(dim int) {
	g := make([][]float32, len(s.all))
	for i := range g {
		g[i] = make([]float32, dim)
	}
	turns := 0
	for busy := true; busy; turns++ {
		if turns > 10000 {
			s.t.Fatalf("the run hangs: %+v", s.all[0].Machine.Ready())
		}
		busy = false
		for i, w := range s.all {
			ready := w.Machine.Ready()
			busy = busy || !ready.Done
			for _, f := range slices.Clone(ready.Send) {
				f.Payload = slices.Clone(f.Payload)
				s.hand(f)
			}
			if ready.Compute {
				loss, err := w.Gradient(g[i], ready.Round, ready.At)
				if errors.Is(err, train.ErrDiverged) {
					return // large values that the receiver accepted
				}
				if err != nil {
					s.t.Fatal(err)
				}
				s.judge(topology.Rank(i), w.Machine.Gradient(g[i], loss, 0))
			}
		}
	}
}

// hand delivers a frame, or its changed copy.
func (s *siege) hand(f gossip.Frame) {
	at := [3]int{int(f.To), f.Round, f.Hop}
	if f.From == liar && f.Kind == gossip.Data && len(f.Payload) > 0 && !s.done[at] {
		s.done[at] = true
		f.Payload = s.bad(f.Payload)
	}
	s.judge(f.To, s.all[f.To].Machine.Receive(f))
}

// judge makes the link to the liar again where a message was refused.
func (s *siege) judge(to topology.Rank, err error) {
	var bad *algos.MessageError
	switch {
	case errors.As(err, &bad):
		if bad.From != liar {
			s.t.Fatalf("worker %d blames %d, who is honest: %v", to, bad.From, err)
		}
		s.refused++
		for _, up := range []bool{false, true} {
			s.all[to].Machine.Link(liar, up)
			s.all[liar].Machine.Link(to, up)
		}
	case err == nil || errors.Is(err, gossip.ErrStale) || errors.Is(err, gossip.ErrDuplicate):
	default:
		s.t.Fatalf("worker %d: %v", to, err)
	}
}

// withFloat returns a change of payloads that sets the float at byte at to v.
func withFloat(at int, v float32) func([]byte) []byte {
	return func(payload []byte) []byte {
		binary.LittleEndian.PutUint32(payload[at:], math.Float32bits(v))
		return payload
	}
}

func truncated(payload []byte) []byte { return payload[:len(payload)-1] }
func extended(payload []byte) []byte  { return append(payload, 0) }

// besieged are settings beyond those of decentralized.
var besieged = [][]string{
	{"algorithm.codec=full"},
	{"algorithm={codec: full, order: atc, local_steps: 2}"},
	{"algorithm.theta={rule: certified, verify: false}"},
	{"algorithm.bits=1", "topology.slack=0.1"},
	{"algorithm={bits: 4, theta: {rule: measured}}"},
	{"algorithm.name=allreduce"},
	{"algorithm={name: choco, gamma: 0.3, compressor: {name: minmax, bucket: 100}}",
		"algorithm.controller.name=oland-raj"},
	{"algorithm.name=naive", "algorithm.compressor.name=full"},
}

func allSettings() [][]string {
	all := slices.Clone(besieged)
	for _, d := range decentralized {
		all = append(all, d.set)
	}
	return all
}

// floatsAt returns the offset of the first float in a message of the run. It returns −1 if there is none: symbols of a
// grid cannot hold NaN.
func floatsAt(r *experiment.Run) int {
	a := r.Config().Algorithm
	compressed := r.Method().Compresses()
	switch {
	case (r.Modulo() != nil) || compressed && a.Compressor.Name == "linear":
		return -1
	case compressed && a.Compressor.Name == "topk":
		return 4 // after the index
	}
	return 0
}

// Every message of one worker is poisoned first. The run still ends with the parameters of the clean run: a refused
// message leaves no trace in models, replicas, error memories, codecs or later messages.
func TestPoisonedMessagesLeaveNoTrace(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, set := range allSettings() {
		r := assemble(t, append(slices.Clone(undrawn), append([]string{"model.dim=300", "train.rounds=5"}, set...)...)...)
		if r.N() <= liar {
			continue
		}
		want := digest(t, r, workers(t, r), 1)
		poisons := map[string]func([]byte) []byte{"truncated": truncated, "extended": extended,
			"empty": func([]byte) []byte { return nil }}
		if at := floatsAt(r); at >= 0 {
			poisons["NaN"], poisons["Inf"] = withFloat(at, float32(math.NaN())), withFloat(at, inf)
			poisons["1e30"], poisons["-1e30"] = withFloat(at, 1e30), withFloat(at, -1e30)
		}
		if theta := r.Config().Algorithm.Theta; (r.Modulo() != nil) && theta.Verify && theta.Rule != "measured" {
			poisons["flipped"] = func(p []byte) []byte { p[len(p)/3] ^= 0x10; return p }
			poisons["hash of another"] = func(p []byte) []byte { p[len(p)-1] ^= 1; return p }
		}
		for name, bad := range poisons {
			s := newSiege(t, r, bad)
			s.run(r.Dim())
			if got := digestOf(t, r, s.all); got != want {
				t.Errorf("%v: %s: digest %.12s, want %.12s as without poison", set, name, got, want)
			}
			if s.refused == 0 {
				t.Errorf("%v: %s: nothing was refused", set, name)
			}
		}
	}
}

// Flipped bits under a right checksum may make another message that makes sense. A message that is accepted then moves
// models, but only within bounds.
func TestFlippedBitsAreRefusedOrHarmless(t *testing.T) {
	for i, set := range allSettings() {
		r := assemble(t, append(slices.Clone(undrawn), append([]string{"model.dim=300", "train.rounds=5"}, set...)...)...)
		if r.N() <= liar {
			continue
		}
		random := rand.New(rand.NewPCG(uint64(i), 7))
		s := newSiege(t, r, func(p []byte) []byte {
			p[random.IntN(len(p))] ^= 1 << random.IntN(8)
			return p
		})
		s.run(r.Dim())
		for _, w := range s.all {
			if most := vec.MaxAbs(w.Machine.Params()); !(most < 1<<40) {
				t.Errorf("%v: worker %d: a parameter of %v", set, w.Rank, most)
			}
		}
	}
}

// An exchange of AD-PSGD does not happen if its offer is refused; a refused reply is awaited again. No model takes up a
// refused message.
func TestPoisonedExchangesDoNotHappen(t *testing.T) {
	for name, bad := range map[string]func([]byte) []byte{
		"NaN": withFloat(0, float32(math.NaN())), "1e30": withFloat(0, 1e30), "truncated": truncated, "extended": extended,
		"steps": func(p []byte) []byte { return append(p[:len(p)-4], 255, 255, 255, 255) },
	} {
		for _, codec := range []string{"algorithm.codec=full", "algorithm.theta={rule: fixed, value: 4}"} {
			if codec != "algorithm.codec=full" && (name == "NaN" || name == "1e30") {
				continue // symbols hold neither NaN nor large values
			}
			r := assemble(t, append(slices.Clone(undrawn), "model.dim=300", "algorithm.name=adpsgd", codec)...)
			s := newSiege(t, r, func(p []byte) []byte {
				if len(p) <= gossip.CensusBytes(r.N()) {
					return p // the note that the liar has finished is not an exchange
				}
				return bad(p)
			})
			s.run(r.Dim())
			for _, w := range s.all {
				if most := vec.MaxAbs(w.Machine.Params()); !(most < 100) || s.refused == 0 {
					t.Errorf("%s, %s: worker %d: a parameter of %v, %d messages refused", name, codec, w.Rank, most, s.refused)
				}
			}
		}
	}
}

// digestOf returns the digest of a run that these workers have finished.
func digestOf(t *testing.T, r *experiment.Run, workers []*Worker) string {
	t.Helper()
	var all []record.Final
	for i, w := range workers {
		own := record.Digest(w.Machine.Params())
		all = append(all, record.Final{Rank: i, Digest: hex.EncodeToString(own[:])})
	}
	sum, err := combined(r, all)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Messages of honest workers are accepted, however badly a run goes.
func TestHonestMessagesAreBelieved(t *testing.T) {
	for _, set := range [][]string{
		{"model={name: quadratic, dim: 50, spread: 1000000}", "train={step_size: 1000000, schedule: constant}"},
		{"model={name: quadratic, dim: 50, spread: 1000000}", "train={step_size: 100, schedule: constant}",
			"algorithm.codec=full"},
		{"model={name: quadratic, dim: 1, spread: 1000000}", "train={step_size: 1000000, schedule: constant}",
			"algorithm.codec=full"},
		{"model={name: quadratic, dim: 1, spread: 0}", "algorithm.codec=full"},
		{"model={name: quadratic, dim: 1, spread: 0.000001}", "algorithm.name=adpsgd", "algorithm.codec=full"},
		{"model.name=logistic", "data={partition: labels, per_worker: 1}", "algorithm.codec=full"},
		{"data={partition: labels, per_worker: 1}", "train.step_size=3", "algorithm.codec=full"},
		{"data={partition: labels, per_worker: 1}", "train.step_size=3"},
		{"data={partition: labels, per_worker: 1}", "algorithm={name: dcd, compressor: {name: qsgd, bits: 2}}"},
		{"data={partition: labels, per_worker: 1}",
			"algorithm={name: ecd, compressor: {name: minmax, bits: 1, mode: stochastic}}"},
		{"data={partition: labels, per_worker: 1}", "algorithm={name: allreduce}", "train.step_size=10"},
	} {
		r := over(t, []string{"train.rounds=40", "train.batch=4", "model.hidden=[8]"}, set...)
		s := newSiege(t, r, func(p []byte) []byte { return p })
		s.run(r.Dim())
		if s.refused != 0 {
			t.Errorf("%v: %d messages were refused", set, s.refused)
		}
	}
}
