package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gossiptrainer/gossip/state"
)

// A worker has a state with one variable of each kind.
type worker struct {
	x     []float32
	seen  int
	notes []byte
	loss  float64
	steps []uint32
}

func (w *worker) State(v *state.Visit) {
	v.Bytes("notes", &w.notes)
	v.Floats("x", w.x)
	state.Int(v, "seen", &w.seen, 0, 1000)
	v.Double("loss", &w.loss)
	v.Counts("steps", w.steps)
}

func at(k int) (Manifest, *state.Snapshot) {
	w := worker{x: []float32{float32(k), 2, 3}, seen: k, notes: []byte("abcde"), loss: 0.5, steps: []uint32{1, uint32(k)}}
	s := new(state.Snapshot)
	s.Save("worker", &w)
	return Manifest{Run: "ring", Rank: 3, Round: k, Settings: trainSettings(`{"rounds":300,"slow":{},"step":0.05}`)}, s
}

func trainSettings(train string) []Section {
	return []Section{{"seed", json.RawMessage(`7`)}, {"train", json.RawMessage(train)}}
}

func write3(t *testing.T, rounds ...int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "checkpoints")
	for _, k := range rounds {
		m, s := at(k)
		if err := Write(dir, m, s, 3); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names returns the names in a folder of checkpoints, without that of a spare.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != spareName {
			all = append(all, e.Name())
		}
	}
	return all
}

func TestTheNewestReturns(t *testing.T) {
	dir := write3(t, 10, 20)
	found, err := Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, s := at(20)
	if found.Round != 20 || found.Run != m.Run || found.Rank != m.Rank || len(found.Skipped) != 0 {
		t.Errorf("found %+v, want %+v", found.Manifest, m)
	}
	if err := found.Check(m, func(Difference) bool { return false }); err != nil {
		t.Error(err)
	}
	for _, want := range s.Tensors {
		if !slices.ContainsFunc(found.State.Tensors, func(got state.Tensor) bool { return cmp.Equal(got, want) }) {
			t.Errorf("no tensor %+v", want)
		}
	}
	back := worker{x: make([]float32, 3), steps: make([]uint32, 2)}
	if err := found.State.Load("worker", &back); err != nil || back.seen != 20 || back.x[0] != 20 ||
		string(back.notes) != "abcde" || back.loss != 0.5 || back.steps[1] != 20 {
		t.Errorf("%+v, error %v", back, err)
	}
}

func TestAFewAreKept(t *testing.T) {
	dir := write3(t, 10, 20, 30, 40, 100_000_000)
	if got, want := names(t, dir), []string{"round-00000030", "round-00000040", "round-100000000"}; !slices.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want)
	}
	// A run that went back replaces its later checkpoints. It removes the draft of a process
	// that has ended.
	if err := os.Mkdir(filepath.Join(dir, unfinished+"round-00000050"), 0o755); err != nil {
		t.Fatal(err)
	}
	m, s := at(35)
	for range 2 {
		if err := Write(dir, m, s, 3); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(t, dir), []string{"round-00000030", "round-00000035"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A process that ends while it removes a checkpoint leaves a draft, and the earlier checkpoints are whole.
func TestARemovalThatStops(t *testing.T) {
	dir := write3(t, 10, 20)
	if err := os.Mkdir(filepath.Join(dir, unfinished+"removed-round-00000020"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := remove(filepath.Join(dir, "round-00000020")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, unfinished+"removed-round-00000030"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found, err := Latest(dir); err != nil || found.Round != 10 {
		t.Errorf("%+v, error %v, want round 10", found, err)
	}
	if err := Clear(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there after Clear: error %v", err)
	}
}

func TestNothingThere(t *testing.T) {
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "none")} {
		if _, err := Latest(dir); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v, want ErrNone and the folder", err)
		}
	}
}

// Latest skips a damaged newest checkpoint, returns the one before and names the damage.
func TestDamagedCheckpointsAreSkipped(t *testing.T) {
	content := func(t *testing.T, path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	damage := map[string]func(t *testing.T, path string) []byte{
		"gone":      func(*testing.T, string) []byte { return nil },
		"empty":     func(*testing.T, string) []byte { return []byte{} },
		"truncated": func(t *testing.T, path string) []byte { c := content(t, path); return c[:len(c)-3] },
		"longer":    func(t *testing.T, path string) []byte { return append(content(t, path), 0) },
		"early":     func(t *testing.T, path string) []byte { c := content(t, path); c[9] ^= 4; return c },
		"late":      func(t *testing.T, path string) []byte { c := content(t, path); c[len(c)-2] ^= 4; return c },
	}
	for _, name := range []string{stateFile, manifestFile} {
		for what, change := range damage {
			dir := write3(t, 10, 20)
			path := filepath.Join(dir, "round-00000020", name)
			if name == manifestFile && what == "longer" {
				continue // white space
			}
			text := change(t, path)
			err := os.Remove(path)
			if err == nil && text != nil {
				err = os.WriteFile(path, text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			found, err := Latest(dir)
			if err != nil || found.Round != 10 || len(found.Skipped) != 1 ||
				!strings.Contains(found.Skipped[0].Error(), "round-00000020: damaged") {
				t.Errorf("%s %s: found %+v, error %v, want round 10 and the damage", name, what, found, err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "round-00000010")); err != nil {
				t.Fatal(err)
			}
			var damaged *DamagedError
			if _, err := Latest(dir); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "no checkpoint in") {
				t.Errorf("%s %s: error %v, want a DamagedError", name, what, err)
			}
		}
	}
}

// Latest finds a flipped bit in either file, unless it changes nothing: JSON keys may have
// capitals.
func TestFlippedBitsAreFound(t *testing.T) {
	dir := write3(t, 20)
	whole, err := Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stateFile, manifestFile} {
		flip(t, dir, filepath.Join(dir, "round-00000020", name), whole)
	}
}

func flip(t *testing.T, dir, path string, whole *Found) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		text[i] ^= 1 << (i % 8)
		var damaged *DamagedError
		if found, err := Latest(dir); !errors.As(err, &damaged) &&
			!cmp.Equal(found, whole, cmpopts.IgnoreUnexported(state.Snapshot{})) {
			t.Fatalf("%s: byte %d: error %v, want a DamagedError", path, i, err)
		}
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheckpointsOfOthers(t *testing.T) {
	dir := write3(t, 20)
	found, err := Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(m *Manifest)
		want   string
	}{
		"run":  {func(m *Manifest) { m.Run = "torus" }, "of run ring, not of torus"},
		"rank": {func(m *Manifest) { m.Rank = 0 }, "of rank 3, not of 0"},
		"settings": {func(m *Manifest) { m.Settings = trainSettings(`{"rounds":300,"slow":{"2":4},"step":0.1}`) },
			"train.slow was {} and is not set; train.slow.2 was not set and is 4; train.step was 0.05 and is 0.1"},
		"seed": {func(m *Manifest) { m.Settings = m.Settings[1:] }, "seed was 7 and is not set"},
	} {
		m, _ := at(20)
		test.change(&m)
		var mismatch *MismatchError
		err := found.Check(m, func(Difference) bool { return false })
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), test.want) || mismatch.Hint() == "" {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	m, _ := at(20)
	m.Settings = trainSettings(`{"rounds":600,"slow":{},"step":0.05}`)
	if err := found.Check(m, func(d Difference) bool {
		return d == Difference{Key: "train.rounds", Then: "300",
			Now: "600"}
	}); err != nil {
		t.Error(err)
	}
}

func TestAnotherVersionIsNotSkipped(t *testing.T) {
	dir := write3(t, 10, 20)
	path := filepath.Join(dir, "round-00000020", manifestFile)
	body := []byte(`{"version":3,"colour":"blue"}`)
	text, err := json.Marshal(envelope{digest(body), body})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var version *VersionError
	if _, err := Latest(dir); !errors.As(err, &version) || version.Version != 3 || version.Hint() == "" {
		t.Errorf("error %v, want a VersionError", err)
	}
}

func TestWhereNothingCanBeWritten(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m, s := at(7)
	if err := Write(inTheWay, m, s, 3); err == nil || !strings.Contains(err.Error(), "round 7") {
		t.Errorf("error %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	var good bytes.Buffer
	_, s := at(5)
	if err := Encode(&good, s); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Decode(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Encode(&again, s); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		w := worker{x: make([]float32, 3), steps: make([]uint32, 2)}
		if err := s.Load("worker", &w); err == nil && (w.seen < 0 || w.seen > 1000 || w.loss != w.loss || len(w.x) != 3) {
			t.Errorf("loaded %+v", w)
		}
	})
}

func FuzzManifest(f *testing.F) {
	m, _ := at(5)
	text, err := document{Version: version, Manifest: m, State: file{9, strings.Repeat("ab", 32)}}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readDocument(bytes.NewReader(text))
		if err != nil {
			return
		}
		if d.Round < 0 || d.Rank < 0 || d.State.Bytes < 0 {
			t.Errorf("accepted %+v", d)
		}
		found := Found{Manifest: d.Manifest}
		if err := found.Check(d.Manifest, func(Difference) bool { return false }); err != nil {
			t.Errorf("differs from itself: %v", err)
		}
	})
}

// Long vectors stay in the file until a worker takes them over. A file that is cut off meanwhile is an error.
func TestLongVectorsStayOnDisk(t *testing.T) {
	dir := t.TempDir()
	old := worker{x: make([]float32, longest/4+100), steps: []uint32{1, 2}}
	for i := range old.x {
		old.x[i] = float32(i)
	}
	shown := state.Share()
	shown.Save("worker", &old)
	draft, err := Begin(dir, Manifest{Run: "ring", Round: 7}, shown)
	if err != nil {
		t.Fatal(err)
	}
	old.x[5] = -1 // the draft has the state as it was
	if err := draft.Commit(1); err != nil {
		t.Fatal(err)
	}
	found, err := Latest(dir)
	if err != nil || found.Round != 7 {
		t.Fatalf("%+v, error %v", found, err)
	}
	back := worker{x: make([]float32, len(old.x)), steps: make([]uint32, 2)}
	if err := found.State.Load("worker", &back); err != nil {
		t.Fatal(err)
	}
	old.x[5] = 5
	if !slices.Equal(back.x, old.x) || found.State.Bytes() != shown.Bytes() {
		t.Errorf("%v..., %d bytes, want %d", back.x[:8], found.State.Bytes(), shown.Bytes())
	}
	for _, part := range found.State.Tensors {
		if long := part.Type == "F32"; long != (part.Stored != nil) || long && len(part.Data) > 0 {
			t.Errorf("%s: %d bytes in memory", part.Name, len(part.Data))
		}
	}
	if err := os.Truncate(filepath.Join(dir, "round-00000007", stateFile), longest/2); err != nil {
		t.Fatal(err)
	}
	if err := found.State.Load("worker", &back); err == nil {
		t.Error("a file that ends early is a state")
	}
}

func TestADroppedDraftLeavesNothing(t *testing.T) {
	dir := write3(t, 10)
	m, s := at(20)
	draft, err := Begin(dir, m, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := draft.Drop(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"round-00000010"}) {
		t.Errorf("%v is left", got)
	}
}
