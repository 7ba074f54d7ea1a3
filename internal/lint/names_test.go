package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A declaration is one name of a package, outside tests.
type declaration struct {
	source
	id       *ast.Ident
	node     ast.Node // a signature, a type or a whole function; nil for a value without a type
	receiver string   // of a method
	block    int      // of constants; 0: none
}

// key is the name with its package, and that of a method with its receiver.
func (d declaration) key() string {
	if d.receiver != "" {
		return d.pkg() + "." + d.receiver + "." + d.id.Name
	}
	return d.pkg() + "." + d.id.Name
}

// declarations returns the names that files declare at the top.
func declarations(sources []source) []declaration {
	var all []declaration
	block := 0
	for _, s := range sources {
		if s.isTest() || ast.IsGenerated(s.file) {
			continue
		}
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				all = append(all, declaration{s, decl.Name, decl, receiverOf(decl), 0})
			case *ast.GenDecl:
				block++
				all = append(all, specsOf(s, decl, block)...)
			}
		}
	}
	return all
}

// specsOf returns the types, constants and variables of a declaration, whose number is block.
func specsOf(s source, decl *ast.GenDecl, block int) []declaration {
	var all []declaration
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			all = append(all, declaration{s, spec.Name, spec, "", 0})
		case *ast.ValueSpec:
			of, node := 0, ast.Node(nil)
			if decl.Tok == token.CONST {
				of = block
			}
			if spec.Type != nil {
				node = spec.Type
			}
			for _, id := range spec.Names {
				all = append(all, declaration{s, id, node, "", of})
			}
		}
	}
	return all
}

// receiverOf returns the type of a method's receiver, "" for a function.
func receiverOf(f *ast.FuncDecl) string {
	name := ""
	if f.Recv != nil {
		ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return name == ""
		})
	}
	return name
}

// imports returns the packages of ours that a file imports, by the names that it has for them.
func imports(s source) map[string]string {
	all := map[string]string{}
	for _, spec := range s.file.Imports {
		if path, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ours {
			all[importName(s, module+path)] = path
		}
	}
	return all
}

// mentions calls see with the keys of all that a node of a file mentions: pkg.Name, or .Name for a field or method.
func mentions(s source, node ast.Node, see func(key string)) {
	packages := imports(s)
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && packages[x.Name] != "" {
				see(packages[x.Name] + "." + n.Sel.Name)
				return false
			}
			see("." + n.Sel.Name)
			ast.Inspect(n.X, visit)
			return false
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, id := range m.Names {
					see("." + id.Name)
				}
			}
		case *ast.Ident:
			see(s.pkg() + "." + n.Name)
		}
		return true
	}
	ast.Inspect(node, visit)
}

// hidden reports whether a package promises nothing to programs outside the module.
func hidden(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.Contains([]string{"internal", "app", "lab", "node"}, top) && !isOutside(pkg)
}

// calledByLibraries are methods that no code of ours has to call or to name in an interface.
var calledByLibraries = strings.Fields(`MarshalJSON MarshalYAML MarshalText JSONSchema Less Ticks SetColor FillString
	Enabled WithAttrs WithGroup SetReadBuffer SetWriteBuffer SetStreamHandlerMatch SecureInbound SecureOutbound LocalPeer
	RemotePublicKey ConnState Upgrade UpgradeGatedMaListener InterceptAccept InterceptPeerDial InterceptAddrDial
	InterceptSecured InterceptUpgraded`)

// idle are exported names that the law on them does not judge yet. The list may only shrink.
var idle = map[string]bool{
	"app/dash.About": true, "app/dash.Curve": true, "app/dash.Edge": true, "app/dash.Event": true,
	"app/dash.Layout": true, "app/dash.Listed": true, "app/dash.Peer": true, "app/dash.PeerFinal": true,
	"app/dash.Progress": true, "app/dash.Scores": true, "app/dash.View": true, "app/screen.Dashboard": true,
	"app/screen.Dashboard.Means": true, "app/screen.Dashboard.Present": true, "app/screen.Dashboard.Remaining": true,
	"app/screen.Means": true, "app/screen.NewDashboard": true, "app/screen.Size": true, "app/session.Until.TimeUp": true,
	"app/session.Warnings": true, "internal/data.OneBased": true, "internal/data.ZeroBased": true,
	"internal/report.Labels": true,
}

// A ledger says which names are used, and where.
type ledger struct {
	named    map[string]bool            // pkg.Name, from another package
	selected map[string]map[string]bool // .Name, by package
}

// newLedger reads all files. Tests with a package of their own are another package.
func newLedger(sources []source) ledger {
	l := ledger{map[string]bool{}, map[string]map[string]bool{}}
	for _, s := range sources {
		user := s.pkg()
		if strings.HasSuffix(s.file.Name.Name, "_test") {
			user += "_test"
		}
		mentions(s, s.file, func(key string) {
			pkg, name := key[:strings.LastIndex(key, ".")], key[strings.LastIndex(key, "."):]
			switch {
			case pkg != "" && pkg != user:
				l.named[key] = true
			case pkg == "" && l.selected[name] == nil:
				l.selected[name] = map[string]bool{user: true}
			case pkg == "":
				l.selected[name][user] = true
			}
		})
	}
	return l
}

// elsewhere reports whether another package than that of a method selects its name.
func (l ledger) elsewhere(d declaration) bool {
	users := l.selected["."+d.id.Name]
	return len(users) > 1 || len(users) == 1 && !users[d.pkg()]
}

// idleExports finds exported names that no other package mentions, and that stand in no signature of one that does.
// Constants of one block go together.
func idleExports(sources []source) []string {
	l, all := newLedger(sources), declarations(sources)
	shown := l.shown(all)
	var found []string
	for _, d := range all {
		used := shown[d.key()]
		if d.receiver != "" {
			used = l.elsewhere(d) || slices.Contains(calledByLibraries, d.id.Name)
		}
		if d.id.IsExported() && hidden(d.pkg()) && !used && !idle[d.key()] {
			found = append(found, d.at(d.id.Pos(), "no other package uses %s: write it in lower case", d.key()))
		}
	}
	return found
}

// shown returns the keys of names that other packages use, and of all that stands in their signatures.
func (l ledger) shown(all []declaration) map[string]bool {
	byKey, methods, blocks := map[string]declaration{}, map[string][]declaration{}, map[int]bool{}
	var open []declaration
	for _, d := range all {
		if d.receiver != "" {
			of := d.pkg() + "." + d.receiver
			methods[of] = append(methods[of], d)
			continue
		}
		byKey[d.key()] = d
		blocks[d.block] = blocks[d.block] || l.named[d.key()]
	}
	for _, d := range byKey {
		if l.named[d.key()] || d.block > 0 && blocks[d.block] {
			open = append(open, d)
		}
	}
	seen := map[string]bool{}
	for len(open) > 0 {
		d := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[d.key()] {
			continue
		}
		seen[d.key()] = true
		for _, part := range signature(d.node) {
			mentions(d.source, part, func(key string) {
				if other, ok := byKey[key]; ok && !seen[key] {
					open = append(open, other)
				}
			})
		}
		for _, m := range methods[d.key()] {
			if m.id.IsExported() {
				open = append(open, m)
			}
		}
	}
	return seen
}

// signature returns what a declaration shows: not the bodies of functions, nor fields in lower case.
func signature(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.FuncDecl:
		return []ast.Node{n.Type}
	case *ast.TypeSpec:
		t, ok := n.Type.(*ast.StructType)
		if !ok {
			return []ast.Node{n.Type}
		}
		var shown []ast.Node
		for _, f := range t.Fields.List {
			if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
				shown = append(shown, f.Type)
			}
		}
		return shown
	}
	return []ast.Node{node}
}

// seams are functions that only tests reach, and that stay with the code for their reason. The list may only shrink.
var seams = map[string]string{
	"gossip/council.silent.Debugf":   "raft calls its logger",
	"gossip/council.silent.Fatal":    "raft calls its logger",
	"gossip/council.silent.Fatalf":   "raft calls its logger",
	"gossip/council.silent.Infof":    "raft calls its logger",
	"gossip/council.silent.Panic":    "raft calls its logger",
	"gossip/council.silent.Panicf":   "raft calls its logger",
	"gossip/council.silent.Warning":  "raft calls its logger",
	"gossip/council.silent.Warningf": "raft calls its logger",
	"gossip/view.Moved":              "tests of two packages hold deaths against it",
	"gossip/state.Snapshot.CopyTo":   "tests of three packages keep states with it",
	"internal/bridge.AppendMessage":  "tests of four packages play a script",
	"internal/data.Load":             "tests of three packages read whole sets",
	"moniqua.Codec.Quotients":        "vectors hold it",
	"moniqua.Grid.Delta":             "tests hold the error of the codec against it",
	"topology.Kind.Endless":          "a test of internal/build leaves out graphs that never repeat",
	"quant.bucketed.CompressWith":    "vectors give the random numbers",
	"quant/levels.Mixture.Density":   "vectors hold it",
	"quant/levels.Mixture.F":         "vectors hold it",
	"quant/levels.Mixture.Moment":    "vectors hold it",
	"quant/levels.Probabilities":     "vectors hold it",
}

// reach returns the keys of the functions that the program reaches. It starts from main, from types and values at the
// top of packages, and from the API of the root. It goes by names: a call of a method reaches all methods of that name.
func reach(sources []source, functions map[string][]declaration) map[string]bool {
	reached, open := map[string]bool{}, []string{}
	see := func(key string) {
		if !reached[key] {
			reached[key] = true
			open = append(open, key)
		}
	}
	for _, name := range calledByLibraries {
		see("." + name)
	}
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		see(s.pkg() + ".main")
		see(s.pkg() + ".init")
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
				mentions(s, decl, see)
			case s.pkg() == "." && f.Name.IsExported():
				see(calledAs(s, f))
			}
		}
	}
	for len(open) > 0 {
		key := open[len(open)-1]
		open = open[:len(open)-1]
		for _, d := range functions[key] {
			if body := d.node.(*ast.FuncDecl).Body; body != nil {
				mentions(d.source, body, see)
			}
		}
	}
	return reached
}

// calledAs returns the key under which code mentions a function: pkg.Name, or .Name for a method.
func calledAs(s source, f *ast.FuncDecl) string {
	if f.Recv != nil {
		return "." + f.Name.Name
	}
	return s.pkg() + "." + f.Name.Name
}

// unreached finds functions and methods that only tests reach.
func unreached(sources []source) (found, needless []string) {
	functions := map[string][]declaration{}
	for _, s := range sources {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && !s.isTest() {
				functions[calledAs(s, f)] = append(functions[calledAs(s, f)], declaration{s, f.Name, f, receiverOf(f), 0})
			}
		}
	}
	reached, kept := reach(sources, functions), map[string]bool{}
	for key, all := range functions {
		for _, d := range all {
			if reached[key] || isOutside(d.pkg()) || d.id.Name == "_" {
				continue
			}
			if kept[d.key()] = true; seams[d.key()] == "" {
				found = append(found, d.at(d.id.Pos(), "only tests reach %s: delete it, or move it to them", d.key()))
			}
		}
	}
	for name := range seams {
		if !kept[name] {
			needless = append(needless, "seams: the program reaches "+name+", or it is gone: remove the entry")
		}
	}
	return found, needless
}

func TestExportedNamesHaveUsers(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range idleExports(all.sources) {
		t.Error(finding)
	}
	there := map[string]bool{}
	for _, d := range declarations(all.sources) {
		there[d.key()] = true
	}
	for name := range idle {
		if !there[name] {
			t.Errorf("idle: %s is gone: remove the entry", name)
		}
	}
}

func TestTheProgramReachesItsFunctions(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	found, needless := unreached(all.sources)
	for _, finding := range slices.Concat(found, needless) {
		t.Error(finding)
	}
}

func TestNamesWithoutUseAreFound(t *testing.T) {
	var sources []source
	for name, text := range map[string]string{
		"internal/sim/a.go": `package sim
type Used struct { Shown Deep; hidden Inner }
type Deep struct{}
type Inner struct{}
type Idle struct{}
const ( One = iota; Two )
const Three = 3
func (Used) Called(Parameter) {}
func (Used) Unused() { helper() }
func (Used) MarshalJSON() {}
type Parameter int
func Outer() {}
func helper() {}
`,
		"internal/sim/a_test.go": "package sim\nvar _ = Three\nfunc init() { Outer() }\n",
		"internal/sim/b_test.go": "package sim_test\nimport \"gossiptrainer/internal/sim\"\nfunc init() { sim.Outer() }\n",
		"internal/other/other.go": "package main\nimport \"gossiptrainer/internal/sim\"\n" +
			"func main() { var u sim.Used; u.Called(sim.One) }\n",
	} {
		s, err := parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	got := strings.Join(idleExports(sources), "\n")
	for _, name := range []string{"Inner", "Idle", "Three", "Used.Unused"} {
		if line := "no other package uses internal/sim." + name + ":"; !strings.Contains(got, line) {
			t.Errorf("%s is not found", name)
		} else {
			got = strings.Replace(got, line, "", 1)
		}
	}
	if strings.Contains(got, "uses") {
		t.Errorf("found too much:\n%s", got)
	}
	found, _ := unreached(sources)
	slices.Sort(found)
	if got := strings.Join(found, "\n"); len(found) != 3 || !strings.Contains(got, "sim.Outer:") ||
		!strings.Contains(got, "sim.Used.Unused:") || !strings.Contains(got, "sim.helper:") {
		t.Errorf("only tests reach\n%s", got)
	}
}
