package lint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	upShare = 0.1 // of the references inside a package that may run upwards
	fewRefs = 20  // between files, below which a share says nothing
)

// A mesh is how the files of a package refer to each other: mesh[a][b] says that file a
// uses a name that file b declares.
type mesh map[string]map[string]bool

// meshOf type-checks the files of one package. It knows nothing of what they import, which
// is enough for the names that the package declares itself.
func meshOf(fset *token.FileSet, files []*ast.File) mesh {
	m := mesh{}
	for _, f := range files {
		m[fset.Position(f.Package).Filename] = map[string]bool{}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := config.Check("p", fset, files, info)
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() || local(object) {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(object.Pos()).Filename
		if from != to {
			m[from][to] = true
		}
	}
	return m
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not looked at") }

// local reports whether an object is declared inside a function, as a parameter or a variable.
func local(object types.Object) bool {
	v, isVar := object.(*types.Var)
	return isVar && !v.IsField() && object.Parent() != object.Pkg().Scope()
}

// upward returns the references that run upwards, and how many there are in all. The files are
// put in an order that has few: users above what they use.
func (m mesh) upward() (up []string, all int) {
	up, all = m.against(m.settle(m.greedy()))
	slices.Sort(up)
	return up, all
}

// against returns the references that run upwards in an order of the files from top to bottom, and
// how many references there are in all.
func (m mesh) against(order []string) (up []string, all int) {
	place := map[string]int{}
	for i, name := range order {
		place[name] = i
	}
	for from, uses := range m {
		for to := range uses {
			all++
			if place[to] < place[from] {
				up = append(up, fmt.Sprintf("%s uses %s", path.Base(from), path.Base(to)))
			}
		}
	}
	return up, all
}

// greedy orders the files as Eades, Lin and Smyth do (Information Processing Letters 47, 1993). It
// takes off files that use no other. Then it takes the file with the largest excess of uses over users.
func (m mesh) greedy() []string {
	left := maps.Clone(m)
	var top, bottom []string
	for len(left) > 0 {
		best, gain := "", 0
		for _, name := range slices.Sorted(maps.Keys(left)) {
			uses, used := m.degree(left, name)
			if uses == 0 {
				best = name
				bottom = append(bottom, name)
				break
			}
			if best == "" || uses-used > gain {
				best, gain = name, uses-used
			}
		}
		if len(bottom) == 0 || bottom[len(bottom)-1] != best {
			top = append(top, best)
		}
		delete(left, best)
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}

// settle moves single files to the place where the fewest references run upwards, until no move
// helps. The order it returns has no more of them than the one it gets.
func (m mesh) settle(order []string) []string {
	for moved := true; moved; {
		moved = false
		for _, name := range slices.Sorted(maps.Keys(m)) {
			at := slices.Index(order, name)
			if to := m.better(order, at); to != at {
				order = slices.Insert(slices.Delete(order, at, at+1), to, name)
				moved = true
			}
		}
	}
	return order
}

// better returns the place in order to which the file at a place is best moved; its own if no other
// place is better.
func (m mesh) better(order []string, at int) int {
	best, least := at, 0
	for _, way := range []int{1, -1} {
		count := 0 // how many more references run upwards than if the file stays
		for to := at + way; to >= 0 && to < len(order); to += way {
			count += way * m.pull(order[at], order[to])
			if count < least {
				best, least = to, count
			}
		}
	}
	return best
}

// pull is 1 if a uses b, −1 if b uses a, and 0 if both or neither do.
func (m mesh) pull(a, b string) int {
	pull := 0
	if m[a][b] {
		pull++
	}
	if m[b][a] {
		pull--
	}
	return pull
}

// degree counts the files left that a file uses, and those that use it.
func (m mesh) degree(left mesh, name string) (uses, used int) {
	for to := range m[name] {
		if _, ok := left[to]; ok {
			uses++
		}
	}
	for from := range left {
		if m[from][name] {
			used++
		}
	}
	return uses, used
}

// meshes returns how the files of every package refer to each other.
func (t tree) meshes() (map[string]mesh, error) {
	fset := token.NewFileSet()
	files := map[string][]*ast.File{}
	for _, s := range t.sources {
		if s.isTest() || ast.IsGenerated(s.file) {
			continue
		}
		again, err := parseInto(fset, s.path, t.texts[s.path])
		if err != nil {
			return nil, err
		}
		files[s.pkg()] = append(files[s.pkg()], again)
	}
	all := map[string]mesh{}
	for pkg, group := range files {
		all[pkg] = meshOf(fset, group)
	}
	return all, nil
}

func TestReferencesRunDownwards(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	meshes, err := all.meshes()
	if err != nil {
		t.Fatal(err)
	}
	for pkg, m := range meshes {
		up, total := m.upward()
		t.Logf("%s: %d of %d references run upwards", pkg, len(up), total)
		if total >= fewRefs && float64(len(up)) > upShare*float64(total) {
			t.Errorf("%s: %d of %d references run upwards:\n%s", pkg, len(up), total, strings.Join(up, "\n"))
		}
	}
}

func TestUpwardReferencesAreFound(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		up    int
		all   int
	}{
		{map[string]string{"a.go": "func a() { b(); c() }", "b.go": "func b() { c() }", "c.go": "func c() {}"}, 0, 3},
		{map[string]string{"a.go": "func a() { b() }", "b.go": "func b() { a() }"}, 1, 2},
		{map[string]string{"a.go": "type a struct{ x int }", "b.go": "func (v *a) m() int { return v.x }",
			"c.go": "func c(v *a) { v.m() }"}, 0, 3},
		// The greedy order begins with c, which has d below it.
		{map[string]string{"a.go": "func a() { b() }", "b.go": "func b() { a() }", "c.go": "func c() { a(); b() }",
			"d.go": "func d() { c() }"}, 1, 5},
		{map[string]string{"a.go": "func a() { b := 1; _ = b }", "b.go": "func b() {}"}, 0, 0},
	} {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range slices.Sorted(maps.Keys(test.files)) {
			f, err := parseInto(fset, name, []byte("package p\n"+test.files[name]))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if up, all := meshOf(fset, files).upward(); len(up) != test.up || all != test.all {
			t.Errorf("%v: %v of %d references run upwards, want %d of %d", test.files, up, all, test.up, test.all)
		}
	}
}

func TestNoMoveImprovesTheOrder(t *testing.T) {
	for seed := range uint64(200) {
		draw := rand.New(rand.NewPCG(seed, 0))
		m := mesh{}
		for i := range 100 { // ten files, each of which uses about three of the others
			from, to := string(rune('a'+i/10)), string(rune('a'+i%10))
			if m[from] == nil {
				m[from] = map[string]bool{}
			}
			if from != to && draw.IntN(3) == 0 {
				m[from][to] = true
			}
		}
		greedy := m.greedy()
		before, _ := m.against(greedy)
		settled := m.settle(slices.Clone(greedy))
		after, _ := m.against(settled)
		if len(after) > len(before) || len(settled) != len(m) {
			t.Errorf("%v: %d upwards in %v, %d in %v", m, len(after), settled, len(before), greedy)
		}
		for at, name := range settled {
			for to := range settled {
				other := slices.Insert(slices.Delete(slices.Clone(settled), at, at+1), to, name)
				if up, _ := m.against(other); len(up) < len(after) {
					t.Fatalf("%v: %d upwards in %v, %d in %v", m, len(after), settled, len(up), other)
				}
			}
		}
	}
}
