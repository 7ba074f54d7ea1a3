package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxParameters = 5
	maxAbilities  = 5   // methods declared by one interface; those that it embeds count there
	maxColumns    = 120 // characters, a tab is one
)

// givenCalls may have more parameters: a library calls them.
var givenCalls = map[string]string{
	"node/socket Upgrade": "a transport's upgrader, as libp2p calls it",
}

// budgets finds parameter lists and interfaces that ask too much of a reader.
func budgets(s source) []string {
	if s.isTest() || ast.IsGenerated(s.file) {
		return nil
	}
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			found = append(found, wideType(s, n)...)
		case *ast.FuncDecl:
			_, given := givenCalls[s.pkg()+" "+n.Name.Name]
			if count := n.Type.Params.NumFields(); count > maxParameters && !given {
				found = append(found, s.at(n.Pos(), "function %s has %d parameters: more than %d are a type without a name",
					n.Name.Name, count, maxParameters))
			}
		}
		return true
	})
	return found
}

func wideType(s source, spec *ast.TypeSpec) []string {
	t, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	count := 0
	for _, m := range t.Methods.List {
		count += len(m.Names)
	}
	if count > maxAbilities {
		return []string{s.at(spec.Pos(), "interface %s has %d methods: more than %d are more than one ability: split it",
			spec.Name.Name, count, maxAbilities)}
	}
	return nil
}

// wide finds lines that do not fit beside another window. In Markdown tables, lines of code
// and addresses cannot be broken; in Go raw strings cannot.
func wide(name, text string, whole func(line int) bool) []string {
	markdown, fenced := strings.HasSuffix(name, ".md"), false
	var found []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if markdown && strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		code := markdown && (fenced || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(line, "    "))
		if code || whole(number) || !strings.Contains(trimmed, " ") || strings.Contains(line, "//go:") {
			continue
		}
		if count := utf8.RuneCountInString(line); count > maxColumns {
			found = append(found, fmt.Sprintf("%s:%d: %d columns: break the line at %d", name, number, count, maxColumns))
		}
	}
	return found
}

// rawLines returns the lines of a file on which there is a part of a raw string.
func rawLines(s source) map[int]bool {
	raw := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.HasPrefix(text.Value, "`") {
			for line := s.fset.Position(text.Pos()).Line; line <= s.fset.Position(text.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	return raw
}

func TestTypesAndCallsAreSmall(t *testing.T) { check(t, budgets) }

func TestLinesFit(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	generated, raw := map[string]bool{}, map[string]map[int]bool{}
	for _, s := range all.sources {
		generated[s.path], raw[s.path] = ast.IsGenerated(s.file), rawLines(s)
	}
	for name, text := range all.texts {
		if ext := path.Ext(name); ext != ".go" && ext != ".md" || generated[name] {
			continue
		}
		for _, finding := range wide(name, string(text), func(line int) bool { return raw[name][line] }) {
			t.Error(finding)
		}
	}
}

// deepImports are imports of cmd/peer from the core and the rooms of the node that have not moved to app yet.
// The list may only shrink.
var deepImports = map[string]bool{
	"gossip/state": true, "topology": true, "node/identity": true, "internal/sim": true,
	"internal/train": true, "internal/work": true,
}

// tooDeep reports whether an import gives cmd/peer work that belongs to the application: it reads flags, makes one
// call, prints, and chooses the exit code.
func tooDeep(pkg string) bool {
	for _, root := range []string{"algos", "gossip", "moniqua", "quant", "model", "topology", "node/",
		"internal/sim", "internal/train", "internal/work", "internal/wire", "internal/journal"} {
		if pkg == strings.TrimSuffix(root, "/") && !strings.HasSuffix(root, "/") ||
			strings.HasPrefix(pkg, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}

func TestTheCommandIsThin(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, s := range all.sources {
		if s.pkg() != "cmd/peer" || s.isTest() {
			continue
		}
		for _, spec := range s.file.Imports {
			pkg, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "gossiptrainer/")
			if !own || !tooDeep(pkg) {
				continue
			}
			met[pkg] = true
			if !deepImports[pkg] {
				t.Error(s.at(spec.Pos(), "cmd/peer imports %s: move the work to app", pkg))
			}
		}
	}
	for pkg := range deepImports {
		if !met[pkg] {
			t.Errorf("deepImports: cmd/peer no longer imports %s: remove the entry", pkg)
		}
	}
}

func TestExceptionsToBudgetsAreNeeded(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]int{}
	for _, s := range all.sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok {
				parameters[s.pkg()+" "+f.Name.Name] = f.Type.Params.NumFields()
			}
			return true
		})
	}
	for name := range givenCalls {
		if parameters[name] <= maxParameters {
			t.Errorf("givenCalls: %s has %d parameters: remove the exception", name, parameters[name])
		}
	}
}

func TestBudgetsAreHeld(t *testing.T) {
	expect(t, budgets, "sim/x.go", "package sim\ntype t struct{ a, b int }\nfunc f(a, b, c, d, e int) {}\n", "")
	expect(t, budgets, "sim/x.go", "package sim\nfunc f(a, b, c, d, e, f int) {}\n", "function f has 6 parameters")
	expect(t, budgets, "sim/x.go", "package sim\ntype i interface{ A(); B(); C(); D(); E(); F() }\n",
		"interface i has 6 methods")
	expect(t, budgets, "sim/x.go", "package sim\ntype i interface{ j; A(); B(); C(); D(); E() }\n", "")
	for _, test := range []struct {
		name, text string
		want       int
	}{
		{"x.go", "\t" + strings.Repeat("a ", 61), 1},
		{"x.go", "\t" + strings.Repeat("a ", 58), 0},
		{"x.md", strings.Repeat("é ", 60) + "\n", 0},
		{"x.md", strings.Repeat("é ", 61) + "\n| " + strings.Repeat("a ", 99), 1},
		{"x.md", "```\n" + strings.Repeat("a ", 99) + "\n```\n" + strings.Repeat("a ", 99), 1},
		{"x.md", strings.Repeat("a", 199), 0},
	} {
		if got := wide(test.name, test.text, func(int) bool { return false }); len(got) != test.want {
			t.Errorf("%s: %q: %v, want %d", test.name, test.text, got, test.want)
		}
	}
	s, err := parse("x.go", []byte("package x\n\nconst a = `b\nc`\nconst d = \"e\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := rawLines(s); len(got) != 2 || !got[3] || !got[4] {
		t.Errorf("raw strings on lines %v, want 3 and 4", got)
	}
}
