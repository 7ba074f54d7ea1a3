package registry

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// Every row has the fields that other packages rely on.
func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range algorithms {
		if seen[a.String()] {
			t.Errorf("%s: two rows", a)
		}
		seen[a.String()] = true
		for what, ok := range map[string]bool{
			"Build or Pair, one of the two":                (a.Build == nil) != (a.Pair == nil),
			"a codec or a compressor, not both":            !(a.ByCodec() && a.Compresses()),
			"Frames":                                       a.Sends.Frames != nil,
			"the codec full beside any other":              !a.ByCodec() || slices.Contains(a.Sends.Codecs, Full),
			"a label with moniqua":                         a.ByMoniqua() == (a.Sends.Label != ""),
			"the noise of moniqua":                         a.ByMoniqua() == (a.Theta.Noise != nil),
			"a certificate, or why not":                    a.ByMoniqua() == certified(a.Theta),
			"a certificate of all lanes, or none":          len(a.Lanes()) < 2 || a.Theta.Certificate == nil || a.Theta.Tracks,
			"a compressor for feedback":                    a.Sends.Feedback == NoCompressor || a.Compresses(),
			"a compressor for gamma":                       a.Gamma == nil || a.Compresses(),
			"no reason for what is allowed":                unexplained(a.Takes),
			"a need of W with how to know it":              (a.On.Need == "") == (a.On.Met == nil),
			"the slack for a need of W":                    (a.On.Met == nil) == (a.On.Most == nil),
			"title, what is sent, and the mean, in words":  a.Text.Title != "" && a.Text.Sent != "" && a.Text.Mean != "",
			"forms of a name that has several rows, alone": (a.Form == "") == (len(rowsOf(a.Name)) == 1),
		} {
			if !ok {
				t.Errorf("%s: wants %s", a, what)
			}
		}
	}
}

func certified(t Theta) bool { return t.Certificate != nil || t.Uncertified != "" }

func unexplained(t Takes) bool {
	for _, p := range []Permission{t.LocalSteps, t.Reweight, t.Controller} {
		if p.Given && p.Why != "" {
			return false
		}
	}
	return true
}

func rowsOf(name string) []Algorithm {
	return slices.DeleteFunc(Algorithms(), func(a Algorithm) bool { return a.Name != name })
}

func TestFindTakesTheFormOnlyWhereThereAreSeveral(t *testing.T) {
	for _, test := range []struct {
		name, form, want string
	}{
		{"dpsgd", "ring", "dpsgd"}, {"dpsgd", "", "dpsgd"}, {"allreduce", "server", "allreduce by server"},
		{"allreduce", "", ""}, {"allreduce", "tree", ""}, {"", "", ""},
	} {
		if a, ok := Find(test.name, test.form); ok != (test.want != "") || a.String() != test.want {
			t.Errorf("%s, %s: row %s, want %s", test.name, test.form, a, test.want)
		}
	}
}

const dim = 12

// workers builds all workers of a row on a ring of 4, or on the graph of the row.
func workers(t *testing.T, a Algorithm, feedback bool) []*gossip.Worker {
	t.Helper()
	rows := rowsOn(t, a)
	var all []*gossip.Worker
	for i, row := range rows {
		made, err := a.Build(Parts{
			Rank: topology.Rank(i), Seat: i, Server: topology.Rank(len(rows)), Workers: len(rows), Rows: row,
			X:          make([]float32, dim),
			Codecs:     slices.Repeat([]algos.Codec{algos.Full{}}, len(a.Lanes())),
			Alpha:      func(int) float32 { return 0.1 },
			Compressor: func(topology.Rank) (quant.Compressor, error) { return quant.NewSign(0) },
			Settings:   Settings{Gamma: 0.5, Eta: 1, LocalSteps: 1, Slack: 0.5, Feedback: feedback},
		})
		if err != nil {
			t.Fatal(err)
		}
		checkAbilities(t, a, made, rows)
		w, err := gossip.New(topology.Rank(i), row, made, 2)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// checkAbilities holds an update rule to what its row says of it.
func checkAbilities(t *testing.T, a Algorithm, made gossip.Algorithm, rows []topology.Sequence) {
	t.Helper()
	if hops := made.Plan().Hops; hops != len(a.Sends.Frames(rows).Most) {
		t.Errorf("%s: %d hops, its row has %d", a, hops, len(a.Sends.Frames(rows).Most))
	}
	if hops := made.Plan().Hops; a.ByMoniqua() && len(a.Lanes())%hops != 0 {
		t.Errorf("%s: %d hops in %d lanes, each of which needs noise of its own", a, hops, len(a.Lanes()))
	}
	if early := made.Plan().Overlap; early != a.Sends.Early {
		t.Errorf("%s: its messages travel during the gradient: %v, its row says %v", a, early, a.Sends.Early)
	}
	if _, ok := made.(gossip.Local); a.Takes.LocalSteps.Given && !ok {
		t.Errorf("%s: its row allows local steps, and it is not gossip.Local", a)
	}
	if _, ok := made.(gossip.Carrier); a.ByMoniqua() && !ok {
		t.Errorf("%s: its row has the codec moniqua, and it is no gossip.Carrier", a)
	}
}

// Rules whose row says that they only read directions leave them as they are.
func TestRulesLeaveDirectionsAsTheyAre(t *testing.T) {
	for _, a := range algorithms {
		if !a.Reads {
			continue
		}
		if a.Pair != nil { // its members change their partners, and restart nothing
			continue
		}
		made, err := a.Build(Parts{
			Rows: rowsOn(t, a)[0], X: make([]float32, dim), Codecs: []algos.Codec{algos.Full{}},
			Alpha: func(int) float32 { return 0.1 }, Settings: Settings{LocalSteps: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		g, want := make([]float32, dim), make([]float32, dim)
		for i := range g {
			g[i], want[i] = float32(i), float32(i)
		}
		for k := 0; k < 6; k += 2 {
			if err := made.(gossip.Local).Local(k, g); err != nil {
				t.Fatal(err)
			}
			if err := made.Descend(k+1, g); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g, want) {
				t.Fatalf("%s: round %d: the direction is %v, want %v", a, k, g, want)
			}
		}
	}
}

// Frames and extra vectors are those of the rows.
func TestRowsCountWhatWorkersSendAndKeep(t *testing.T) {
	for _, a := range algorithms {
		if a.Asynchronous() {
			continue
		}
		for _, feedback := range []bool{false, true} {
			if feedback && a.Sends.Feedback == NoCompressor {
				continue
			}
			all := workers(t, a, feedback)
			sent := drive(t, all)
			rows := rowsOn(t, a)
			if want := 2 * a.Sends.Frames(rows).All; sent != want {
				t.Errorf("%s: %d frames in two rounds, its row has %d", a, sent, want)
			}
			for i, w := range all {
				vectors := a.Vector.Of(len(rows[i].At(0).In))
				if feedback {
					vectors += a.Vector.Feedback
				}
				if got := w.ExtraMemory(); got != 4*dim*vectors {
					t.Errorf("%s, worker %d: %d bytes of extra memory, its row has %d vectors", a, i, got, vectors)
				}
			}
		}
	}
}

// rowsOn returns who hears whom among 4 workers.
func rowsOn(t *testing.T, a Algorithm) []topology.Sequence {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: cmp.Or(a.On.Kind, topology.Ring), N: 4, Slack: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	return a.Neighbours(g)
}

// drive takes all workers to the end and counts their frames, but for empty ones.
func drive(t *testing.T, all []*gossip.Worker) (sent int) {
	t.Helper()
	for done := 0; done < len(all); {
		done = 0
		for _, w := range all {
			ready := w.Ready()
			for _, f := range ready.Send {
				if len(f.Payload) > 0 {
					sent++
				}
				if err := all[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if ready.Compute {
				g := make([]float32, dim)
				for c := range g {
					g[c] = float32(c) - 5
				}
				if err := w.Gradient(g, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if ready.Done {
				done++
			}
		}
	}
	return sent
}

func TestRowsOfCompressorsAreWhole(t *testing.T) {
	known := map[string]bool{}
	for i := range reflect.TypeFor[CompressorSettings]().NumField() {
		known[key(reflect.TypeFor[CompressorSettings]().Field(i).Name)] = true
	}
	seen := map[string]bool{}
	for _, c := range compressors {
		if seen[c.Name] || c.Build == nil || c.Text.Value == "" || c.Text.Payload == "" {
			t.Errorf("%s: two rows, or one without Build, Value or Payload", c.Name)
		}
		seen[c.Name] = true
		if c.Has("bits") != (c.Bits != Range{}) {
			t.Errorf("%s: takes bits: %v, range %v", c.Name, c.Has("bits"), c.Bits)
		}
		for _, setting := range c.Takes {
			if !known[setting] || setting == "name" || setting == "scaled" {
				t.Errorf("%s: %s is no setting of some compressors", c.Name, setting)
			}
		}
	}
}

// key returns the key of a run file for a field: RefitAt is refit_at.
func key(field string) string {
	var text []byte
	for i, b := range []byte(field) {
		if b >= 'A' && b <= 'Z' {
			if i > 0 {
				text = append(text, '_')
			}
			b += 'a' - 'A'
		}
		text = append(text, b)
	}
	return string(text)
}

// A row whose members may come and go has a rule that restarts; all others say why not.
func TestRowsRestartWhereMembersComeAndGo(t *testing.T) {
	for _, a := range algorithms {
		if !a.Takes.Views.Given {
			if a.Takes.Views.Why == "" {
				t.Errorf("%s: no views, and no reason", a)
			}
			continue
		}
		if a.Pair != nil { // its members change their partners, and restart nothing
			continue
		}
		made, err := a.Build(Parts{
			Workers: 3, Rows: rowsOn(t, a)[0], X: make([]float32, 12), Codecs: slices.Repeat([]algos.Codec{algos.Full{}}, 2),
			Compressor: func(topology.Rank) (quant.Compressor, error) { return quant.NewSign(0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := made.(gossip.Restarter); !ok {
			t.Errorf("%s: views, and its rule is no gossip.Restarter", a)
		}
	}
}
