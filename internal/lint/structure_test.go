package lint

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var graph = flag.String("graph", "", "write the structure into this `file` as a graph for Graphviz")

// TestStructure draws the program from its imports: packages from the top floor down, with their lines and what they
// import, and the arrows that point upwards.
//
//	go test ./internal/lint -run Structure -v
//	go test ./internal/lint -run Structure -graph house.dot
func TestStructure(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	lines, imported, upwards := map[string]int{}, map[string]map[string]bool{}, []string{}
	for _, s := range all.sources {
		if s.isTest() || isOutside(s.pkg()) {
			continue
		}
		if lines[s.pkg()] += s.lines; imported[s.pkg()] == nil {
			imported[s.pkg()] = map[string]bool{}
		}
		for _, to := range imports(s) {
			imported[s.pkg()][to] = true
		}
		upwards = append(upwards, arrows(s)...)
	}
	floor := func(pkg string) int { _, layer := home(pkg); return layer }
	names := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return 2*(floor(b)-floor(a)) + strings.Compare(a, b)
	})
	sum := 0
	var table strings.Builder
	dot := []string{"digraph house {", "\tnode [shape=box]"}
	for _, name := range names {
		uses := slices.Sorted(maps.Keys(imported[name]))
		fmt.Fprintf(&table, "%2d  %-21s %6d lines, imports %2d: %s\n", floor(name), name, lines[name], len(uses),
			strings.Join(uses, " "))
		dot = append(dot, fmt.Sprintf("\t%q [label=\"%s\\n%d\"]", name, name, lines[name]))
		for _, to := range uses {
			dot = append(dot, fmt.Sprintf("\t%q -> %q", name, to))
		}
		sum += lines[name]
	}
	t.Logf("%d packages, %d floors, %d lines, arrows upwards: %d\n%s", len(names), len(layers), sum, len(upwards), &table)
	for _, arrow := range upwards {
		t.Error(arrow)
	}
	if *graph != "" {
		if err := os.WriteFile(*graph, []byte(strings.Join(append(dot, "}\n"), "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
