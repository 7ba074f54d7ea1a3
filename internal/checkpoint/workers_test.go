package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip/state"
)

// tensorsOf returns a state whose numbers tell the worker.
func tensorsOf(rank int, names ...string) *state.Snapshot {
	s := new(state.Snapshot)
	for i, name := range names {
		data := bytes.Repeat([]byte{byte(rank), byte(i)}, 4*(1+rank%3))
		s.Tensors = append(s.Tensors, state.Tensor{Name: name, Type: "I64", Data: data})
	}
	return s
}

// all writes a checkpoint of workers in two records each, the first ones in reverse order.
func all(t testing.TB, n, forms int) (dir string, want []*state.Snapshot) {
	t.Helper()
	dir = t.TempDir()
	d, err := BeginAll(dir, Manifest{Run: "all", Round: 7})
	if err != nil {
		t.Fatal(err)
	}
	want = make([]*state.Snapshot, n)
	for i := n - 1; i >= 0; i-- {
		own := fmt.Sprintf("machine/%d", i%forms)
		want[i] = tensorsOf(i, "machine/x", own, "oracle/momentum")
		d.Put(i, want[i])
	}
	for i := range n {
		late := tensorsOf(i, "simulation")
		want[i].Tensors = append(want[i].Tensors, late.Tensors...)
		d.Put(i, late)
	}
	if err := errors.Join(d.Finish(tensorsOf(0, "run")), d.Commit(1)); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

func like(a, b state.Tensor) bool {
	return a.Name == b.Name && a.Type == b.Type && bytes.Equal(a.Data, b.Data)
}

func TestWorkersReturnOneAtATime(t *testing.T) {
	for _, n := range []int{1, 40, 30_000} { // the last is longer than a window
		dir, want := all(t, n, 40) // more forms than are looked through
		found, err := Latest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if found.Workers.Len() != n || found.State.Tensors[0].Name != "run" {
			t.Fatalf("%d workers, want %d, beside %+v", found.Workers.Len(), n, found.State.Tensors)
		}
		for i := range n {
			rank := i * 7919 % n
			got, err := found.Workers.Worker(rank)
			if err != nil || !slices.EqualFunc(got.Tensors, want[rank].Tensors, like) {
				t.Fatalf("worker %d of %d is %+v, want %+v, error %v", rank, n, got, want[rank], err)
			}
		}
	}
}

// Names take no room for each worker.
func TestAWorkerTakesHardlyMoreThanItsState(t *testing.T) {
	dir, want := all(t, 1000, 10)
	file, err := os.Stat(filepath.Join(dir, folderName(7), workersFile))
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range want {
		sum += s.Bytes()
	}
	if over := file.Size() - sum; over > 1000*16 {
		t.Errorf("%d bytes beside the states of 1000 workers", over)
	}
}

func TestDamagedWorkersAreRefused(t *testing.T) {
	dir, _ := all(t, 30, 3)
	path := filepath.Join(dir, folderName(7), workersFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() []byte{
		"shorter":     func() []byte { return text[:len(text)-1] },
		"another bit": func() []byte { b := bytes.Clone(text); b[len(b)-3] ^= 1; return b },
	} {
		if err := os.WriteFile(path, change(), 0o644); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if _, err := Latest(dir); !errors.As(err, &damaged) || !strings.Contains(err.Error(), workersFile) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A draft whose workers cannot be written leaves the checkpoint before it.
func TestAFailedWorkerCostsItsCheckpoint(t *testing.T) {
	dir, _ := all(t, 3, 1)
	d, err := BeginAll(dir, Manifest{Run: "all", Round: 9})
	if err != nil {
		t.Fatal(err)
	}
	d.Put(0, &state.Snapshot{Tensors: []state.Tensor{{Name: "odd", Type: "I64", Data: []byte{1}}}})
	d.Put(1, tensorsOf(1, "machine/x"))
	const want = "worker 0: tensor odd: 1 bytes"
	if err := d.Finish(new(state.Snapshot)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	if found, err := Latest(dir); err != nil || found.Round != 7 {
		t.Errorf("%+v, error %v", found, err)
	}
}

// Whatever a file says, reading it ends with an error or with workers that can be read.
func FuzzWorkers(f *testing.F) {
	dir, _ := all(f, 4, 2)
	text, err := os.ReadFile(filepath.Join(dir, folderName(7), workersFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte{0, 1, 1, 'x', 2, 'U', '8', 1, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0x7f, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := scan(bytes.NewReader(text), int64(len(text)), bytes.NewReader(text))
		if err != nil {
			return
		}
		for rank := range w.Len() {
			if _, err := w.Worker(rank); err != nil {
				t.Fatal(err)
			}
		}
	})
}
