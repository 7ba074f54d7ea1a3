package topology

import (
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []string
	}{
		{"ring:1", []string{"0"}},
		{"ring:2", []string{"0 ── 1"}},
		{"ring:3", []string{
			"0 ── 1",
			"│    │",
			"2 ───┘",
		}},
		{"ring:8", []string{
			"0 ── 1 ── 2 ── 3",
			"│              │",
			"7 ── 6 ── 5 ── 4",
		}},
		{"ring:11", []string{
			" 0 ──  1 ──  2 ──  3 ──  4 ──  5",
			" │                             │",
			"10 ──  9 ──  8 ──  7 ──  6 ────┘",
		}},
		{"path:4", []string{"0 ── 1 ── 2 ── 3"}},
		{"torus:1x2", []string{"0 ── 1"}},
		{"torus:2x3", []string{
			"── 0 ── 1 ── 2 ──",
			"   │    │    │",
			"── 3 ── 4 ── 5 ──",
		}},
		{"torus:3x4", []string{
			"    │     │     │     │",
			"──  0 ──  1 ──  2 ──  3 ──",
			"    │     │     │     │",
			"──  4 ──  5 ──  6 ──  7 ──",
			"    │     │     │     │",
			"──  8 ──  9 ── 10 ── 11 ──",
			"    │     │     │     │",
		}},
		{"star:3", []string{
			"    0  1  2",
			" 0  ╲  ●  ●",
			" 1  ●  ╲  ·",
			" 2  ●  ·  ╲",
		}},
		{"ring:1000", []string{"ring:1000: too large to draw"}},
		{"torus:1x60000", []string{"torus:1x60000: too large to draw"}},
	} {
		var got strings.Builder
		if err := build(t, c.spec).Draw(&got); err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(c.want, "\n") + "\n"; got.String() != want {
			t.Errorf("%s: got\n%swant\n%s", c.spec, got.String(), want)
		}
	}
}

func TestDrawFitsAPage(t *testing.T) {
	for _, text := range []string{"ring:26", "torus:13x13", "torus:10x10", "torus:80x2", "path:13", "path:24", "star:24",
		"complete:24"} {
		picture := build(t, text).picture()
		if width := lineWidth(picture); width > pageWidth {
			t.Errorf("%s: %d columns wide:\n%s", text, width, picture)
		}
	}
}

// build makes the graph of a short form, slack 1.
func build(t testing.TB, text string) *Graph {
	t.Helper()
	spec, err := ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
