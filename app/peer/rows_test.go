package peer

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/identity"
)

func TestRowsTravelInTwoHalves(t *testing.T) {
	want := []int{1, 320, 65535, 65536, 1<<24 + 1, 1<<32 - 1}
	var all []float32
	for _, rows := range want {
		all = append(all, tellRows(rows)...)
	}
	if got, err := readRows(all); err != nil || !slices.Equal(got, want) {
		t.Errorf("rows %v, error %v; want %v", got, err, want)
	}
	for name, told := range map[string][]float32{
		"none": {0, 0}, "negative": {0, -1}, "a part": {0, 1.5}, "too many": {65536, 0},
		"not a number": {0, float32(math.NaN())}, "infinite": {float32(math.Inf(1)), 0},
	} {
		_, err := readRows(append([]float32{0, 7}, told...))
		if err == nil || !strings.Contains(err.Error(), "worker 1 has told") {
			t.Errorf("%s: error %v, want one that names the worker", name, err)
		}
	}
}

// A site is a peer in a test, with a folder of its own.
type site struct {
	t      *testing.T
	dir    string
	who    *identity.Identity
	listen string
}

// take takes part in a run of machines, and returns the results, by rank, and the run file of the folder.
func (m *site) take(roster []configs.Peer, set ...string) ([]record.Final, configs.Data, error) {
	loaded, err := configs.Load(configs.Source{Set: append([]string{
		"name=own", "topology={kind: ring, size: 2}", "model.name=logistic", "train.epochs=2", "train.batch=4",
		"data={name: file, partition: local, path: " + filepath.Join(m.dir, "d.csv") + "}", "output.dir=" + m.dir,
	}, set...)})
	if err != nil {
		return nil, configs.Data{}, err
	}
	loaded.Config.Peers = roster
	run, err := session.Own(loaded)
	if err != nil {
		return nil, configs.Data{}, err
	}
	s, err := session.Start(m.t.Context(), run, session.Options{Mode: "run", Screen: session.Screen{
		Talk: io.Discard, Display: func(screen.Run) screen.Display { return screen.Silent(io.Discard) },
		Logger: func(io.Writer) *slog.Logger { return slog.New(slog.DiscardHandler) },
	}})
	if err != nil {
		return nil, configs.Data{}, err
	}
	defer s.End()
	o, err := LANOptions(run, "", "")
	if err != nil {
		return nil, configs.Data{}, err
	}
	o.Identity, o.Logger, o.Observe, o.Listen = m.who, slog.New(slog.DiscardHandler), s.Hear, []string{m.listen}
	part := Part{Session: s, Node: o, Rank: AnyRank, From: worker.Fresh, Locate: loaded.Locate}
	if err := part.Take(m.t.Context()); err != nil {
		return nil, configs.Data{}, err
	}
	kept, err := configs.Load(configs.Source{File: s.Folder.Path(runfolder.RunFile)})
	return s.Finals(), kept.Config.Data, err
}

// twoMachines returns machines of 320 and 200 rows to train on, and their roster.
func twoMachines(t *testing.T) (machines []site, roster []configs.Peer) {
	t.Helper()
	for _, pairs := range []int{200, 125} { // a fifth of the rows is for tests
		who, err := identity.Ephemeral()
		if err != nil {
			t.Fatal(err)
		}
		address, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := address.Addr().(*net.TCPAddr).Port
		if err := address.Close(); err != nil {
			t.Fatal(err)
		}
		m := site{t: t, dir: t.TempDir(), who: who, listen: fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)}
		var rows strings.Builder
		for i := range pairs {
			fmt.Fprintf(&rows, "%d,%d,a\n%d,%d,b\n", i%7, pairs%5, 9-i%5, i%3)
		}
		text := "w,x,class\n" + rows.String()
		if err := os.WriteFile(filepath.Join(m.dir, "d.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		machines, roster = append(machines, m), append(roster, configs.Peer{ID: who.ID(), Addrs: []string{m.listen}})
	}
	return machines, roster
}

// Machines that see only their own files agree on the rows of all when they meet. They train the rounds of a run whose
// file states the rows. A wrong list ends both machines with the same words.
func TestMachinesAgreeOnTheirRows(t *testing.T) {
	machines, roster := twoMachines(t)
	both := func(set ...string) (digests []string, kept []configs.Data, errs []error) {
		digests, kept, errs = make([]string, 2), make([]configs.Data, 2), make([]error, 2)
		var wg sync.WaitGroup
		for rank := range machines {
			wg.Go(func() {
				finals, data, err := machines[rank].take(roster, set...)
				for _, f := range finals {
					digests[rank] += fmt.Sprintf("%d rounds %s ", f.Rounds, f.Digest)
				}
				kept[rank], errs[rank] = data, err
			})
		}
		wg.Wait()
		return digests, kept, errs
	}
	got, kept, errs := both()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, data := range kept {
		if data.Sizes.Law != "shares" || !slices.Equal(data.Sizes.Shares, []float64{320, 200}) {
			t.Errorf("the run folder has %+v", data.Sizes)
		}
	}
	want, _, errs := both("data.sizes={law: shares, shares: [320, 200]}")
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || got[0] != got[1] || strings.Count(got[0], "130 rounds") != 2 {
		t.Errorf("%q, with a list %q: want 130 rounds and the same digests", got, want)
	}
	_, _, errs = both("data.sizes={law: shares, shares: [320, 201]}")
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "worker 1 have 200 samples to train on, but the list says 201") {
			t.Errorf("machine %d: error %v, want the worker with other rows", rank, err)
		}
	}
}
