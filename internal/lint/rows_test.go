package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// tablesOfRows are the packages with tables. Only they may ask which row they have before them.
var tablesOfRows = []string{"topology", "model", "internal/registry"}

// rowsByName are today's tests of a row's name elsewhere, by file and name. The list may only shrink. Names that mean
// something else there have a comment.
var rowsByName = []string{
	"configs/needs.go full",             // the codec
	"configs/rules.go full",             // the codec
	"lab/study/verdict.go dpsgd",        // the baseline of a comparison
	"internal/train/schedule.go linear", // the schedule
}

// rowNames returns the names in the tables of algorithms, compressors, kinds of graphs and models.
func rowNames() []string {
	names := slices.Concat(registry.Names(nil), registry.CompressorNames(""), model.Names(""))
	for _, kind := range topology.Kinds() {
		names = append(names, string(kind))
	}
	return names
}

// namesOfRows finds comparisons with the name of a row, as a text or a constant of package topology or model.
func namesOfRows(s source, names []string) (found []string) {
	if s.isTest() || slices.Contains(tablesOfRows, s.pkg()) || strings.HasPrefix(s.path, "studies/") {
		return nil
	}
	see := func(e ast.Expr) {
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 { // string(topology.Ring)
			e = call.Args[0]
		}
		switch e := e.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(e.Value); err == nil && slices.Contains(names, text) {
				found = append(found, s.path+" "+text)
			}
		case *ast.SelectorExpr:
			of, ok := e.X.(*ast.Ident)
			name := of != nil && ok && (of.Name == "topology" || of.Name == "model") && e.Sel.IsExported()
			if name {
				found = append(found, fmt.Sprintf("%s %s.%s", s.path, of.Name, e.Sel.Name))
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				see(n.X)
				see(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				see(e)
			}
		}
		return true
	})
	return found
}

// Code that asks for the name of a row has to change for the next row.
func TestRowsAreNotKnownByName(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range all.sources {
		found = append(found, namesOfRows(s, rowNames())...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	for _, one := range found {
		if !slices.Contains(rowsByName, one) {
			t.Errorf("%s: the name of a row outside its table: give the row a property, and ask for that", one)
		}
	}
	for _, one := range rowsByName {
		if !slices.Contains(found, one) {
			t.Errorf("%s is no longer found: remove it from rowsByName", one)
		}
	}
}

func TestNamesOfRowsAreFound(t *testing.T) {
	for _, test := range []struct{ code, want string }{
		{`func f(kind string) bool { return kind == "torus" }`, "app/x.go torus"},
		{`func f(kind topology.Kind) bool { return kind != topology.Torus }`, "app/x.go topology.Torus"},
		{`func f(name string) { switch name { case "a", "dpsgd": } }`, "app/x.go dpsgd"},
		{`func f() string { return "dpsgd" }`, ""},
	} {
		s, err := parse("app/x.go", []byte("package x\n"+test.code))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(namesOfRows(s, rowNames()), ", "); got != test.want {
			t.Errorf("%s: found %q, want %q", test.code, got, test.want)
		}
	}
}
