package topology

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestNewSaysWhyThereIsNoGraph(t *testing.T) {
	edges := func(n int, list ...[2]Rank) Spec { return Spec{Kind: EdgeList, N: n, Edges: list, Slack: 1} }
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no kind", Spec{N: 3, Slack: 1}, `unknown kind ""`},
		{"unknown kind", Spec{Kind: "mesh", N: 3, Slack: 1}, "want one of ring, torus"},
		{"no workers", Spec{Kind: Ring, Slack: 1}, "at least 1"},
		{"negative size", Spec{Kind: Star, N: -4, Slack: 1}, "size -4"},
		{"too many workers", Spec{Kind: Ring, N: MaxWorkers + 1, Slack: 1}, "at most 1048576"},
		{"too many edges", Spec{Kind: Complete, N: maxComplete + 1, Slack: 1}, "at most 4096"},
		{"hypercube of 12", Spec{Kind: Hypercube, N: 12, Slack: 1}, "1, 2, 4, 8, ... workers, but the size is 12"},
		{"torus without sides", Spec{Kind: Torus, N: 16, Slack: 1}, "needs rows and cols, got 0 x 0"},
		{"torus with a negative side", Spec{Kind: Torus, Rows: -2, Cols: -3, Slack: 1}, "got -2 x -3"},
		{"torus of another size", Spec{Kind: Torus, N: 12, Rows: 4, Cols: 4, Slack: 1}, "16 workers, but the size is 12"},
		{"torus beyond counting", Spec{Kind: Torus, Rows: math.MaxInt32, Cols: math.MaxInt32, Slack: 1}, "at most 1048576"},
		{"slack 0", Spec{Kind: Ring, N: 8}, "slack 0: not in (0, 1]"},
		{"slack above 1", Spec{Kind: Ring, N: 8, Slack: 1.01}, "slack 1.01"},
		{"negative slack", Spec{Kind: Ring, N: 8, Slack: -0.5}, "slack -0.5"},
		{"slack NaN", Spec{Kind: Ring, N: 8, Slack: math.NaN()}, "slack NaN"},
		{"no edges", edges(0), "at least 1"},
		{"self loop", edges(3, [2]Rank{0, 1}, [2]Rank{2, 2}), "edge 2 2: joins a worker to itself"},
		{"double edge", edges(3, [2]Rank{0, 1}, [2]Rank{1, 2}, [2]Rank{1, 0}), "edge 0 1: given twice"},
		{"worker out of range", edges(3, [2]Rank{0, 3}), "edge 0 3: workers are 0 to 2"},
		{"negative worker", edges(3, [2]Rank{-1, 2}), "edge -1 2: workers are 0 to 2"},
		{"two parts", edges(5, [2]Rank{0, 1}, [2]Rank{3, 4}, [2]Rank{1, 2}), "not connected: 2 parts: {0 1 2} {3 4}"},
		{"a worker without edges", edges(3, [2]Rank{0, 1}), "{0 1} {2}"},
		{"many parts", edges(40, [2]Rank{0, 1}), "39 parts: {0 1} {2} {3} {4} {5} {6} {7} {8} …"},
	} {
		g, err := New(c.spec)
		if err == nil {
			t.Errorf("%s: got a graph of %d workers", c.name, g.N())
		} else if !strings.HasPrefix(err.Error(), "topology: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q in it", c.name, err, c.want)
		}
	}
}

func TestManyPartsAreFoundQuickly(t *testing.T) {
	_, err := New(Spec{Kind: EdgeList, N: MaxWorkers, Edges: [][2]Rank{{0, 1}}, Slack: 1})
	if err == nil || !strings.Contains(err.Error(), "1048575 parts") {
		t.Errorf("error %v", err)
	}
}

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"ring:8":        {Kind: Ring, N: 8, Slack: 1},
		"torus:4x6":     {Kind: Torus, N: 24, Rows: 4, Cols: 6, Slack: 1},
		"star:9":        {Kind: Star, N: 9, Slack: 1},
		"hypercube:1":   {Kind: Hypercube, N: 1, Slack: 1},
		"exponential:5": {Kind: Exponential, N: 5, Slack: 1},
	} {
		got, err := ParseSpec(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if got.String() != text {
			t.Errorf("String() = %q, want %q", got, text)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                "unknown kind",
		"mesh:4":          "want one of ring",
		"Ring:4":          `unknown kind "Ring"`,
		"ring":            "as in ring:8",
		"ring:":           "as in ring:8",
		"ring:eight":      "as in ring:8",
		"ring:-1":         "as in ring:8",
		"ring:+8":         "as in ring:8",
		"ring:8 ":         "as in ring:8",
		"ring:1e3":        "as in ring:8",
		"ring:4294967296": "as in ring:8",
		"ring:0":          "at least 1",
		"ring:9999999":    "at most 1048576",
		"torus:16":        "as in torus:4x4",
		"torus:4x":        "as in torus:4x4",
		"torus:4x4x4":     "as in torus:4x4",
		"torus:0x4":       "got 0 x 4",
		"hypercube:6":     "1, 2, 4, 8, ... workers",
		"edges:5":         "no short form",
	} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

func TestReadEdges(t *testing.T) {
	got, err := ReadEdges(strings.NewReader("# a triangle\n0 1\n\n  2\t1 # twisted\r\n0 2"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][2]Rank{{0, 1}, {2, 1}, {0, 2}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadEdgesNamesTheLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", "no edges"},
		{"only comments", "# nothing\n\n", "no edges"},
		{"one number", "0 1\n2\n", `line 2: want two worker numbers, got "2"`},
		{"three numbers", "0 1 0.5\n", "line 1: want two worker numbers"},
		{"a word", "0 1\n1 two\n", `line 2: "two": want a worker number`},
		{"negative", "0 -1\n", `line 1: "-1": want a worker number`},
		{"out of range", "0 1048576\n", "from 0 to 1048575"},
		{"self loop", "# x\n3 3\n", "line 2: edge 3 3: joins a worker to itself"},
		{"double edge", "0 1\n1 2\n1 0\n", "line 3: edge 1 0: already on line 1"},
		{"binary", "\x7fELF\x02\x01\x00\xff\xfe", "line 1: want two worker numbers"},
		{"endless line", "0 1\n" + strings.Repeat("9", 1<<17), "line 2: "},
		{"endless file", strings.Repeat("#\n", maxEdgeBytes/2+1), "more than 16777216 bytes"},
	} {
		edges, err := ReadEdges(strings.NewReader(c.text))
		if err == nil {
			t.Errorf("%s: got %v", c.name, edges)
		} else if !strings.HasPrefix(err.Error(), "topology: edge list: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q in it", c.name, err, c.want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ReadEdges(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("reader's error lost: %v", err)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{"ring:8", "torus:4x4", "complete:5", "hypercube:8", "edges:3", "ring:8:9",
		"torus:70000x70000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseSpec(text)
		if err != nil {
			return
		}
		again, err := ParseSpec(spec.String())
		if diff := cmp.Diff(spec, again); err != nil || diff != "" {
			t.Fatalf("%q → %v: %v\n%s", text, spec, err, diff)
		}
		if spec.N > 1000 {
			return
		}
		g, err := New(spec)
		if err != nil || g.N() != spec.N {
			t.Fatalf("%q: no graph of %d workers: %v", text, spec.N, err)
		}
	})
}

func FuzzReadEdges(f *testing.F) {
	f.Add([]byte("0 1\n1 2\n# end\n"))
	f.Add([]byte("0 1\r\n5 4\n"))
	f.Add([]byte("0 1048575"))
	f.Fuzz(func(t *testing.T, file []byte) {
		edges, err := ReadEdges(strings.NewReader(string(file)))
		if err != nil {
			return
		}
		g, err := New(Spec{Kind: EdgeList, Edges: edges, Slack: 1})
		if err != nil {
			if !strings.Contains(err.Error(), "not connected") {
				t.Fatalf("a list that was read gives %v", err)
			}
			return
		}
		if len(g.Edges()) != len(edges) {
			t.Fatalf("%d edges became %d", len(edges), len(g.Edges()))
		}
	})
}

func TestTorusesAreNearlySquare(t *testing.T) {
	for n, want := range map[int]int{4: 2, 6: 2, 7: 1, 8: 2, 9: 3, 12: 3, 16: 4} {
		if rows, cols := Sides(n); rows != want || rows*cols != n {
			t.Errorf("%d workers: %d rows of %d, want %d rows", n, rows, cols, want)
		}
	}
}
