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
	maxFields     = 15
	maxParameters = 5
	maxMethods    = 5   // declared by one interface; those that it embeds count there
	maxColumns    = 120 // characters, a tab is one
	minFile       = 30  // lines
)

// wideStructs may have more fields: each is a table of settings that people fill in by name.
var wideStructs = map[string]string{
	"configs Compressor":                   "a section of a run file",
	"configs Data":                         "a section of a run file",
	"internal/registry CompressorSettings": "that section without its keys",
	"internal/record Step":                 "the JSON of a recorded round has these keys",
	"internal/record Summary":              "the JSON of a run's summary has these keys",
	"internal/report Comparison":           "the JSON of a comparison has these keys",
	"internal/node Options":                "the settings of a peer, filled in by name",
	"internal/node Status":                 "the JSON of a peer's status has these keys",
}

// shortFiles may be shorter than minFile lines.
var shortFiles = map[string]string{
	"internal/median/median.go":     "packages of five layers take medians",
	"internal/proptest/proptest.go": "it sets one flag, for all packages that draw examples",
	"internal/sim/errors.go":        "the errors of the package",
	"model/sample/sample.go":        "the two words that objectives and data sets share",
	"model/lenet.go":                "one file per model",
	"quant/levels/gradient.go":      "one file per rule of levels",
	"quant/nuqsgd.go":               "one file per compressor",
	"model/mlp.go":                  "one file per model",
	"python/embed.go":               "it only embeds a file",
}

// givenCalls may have more parameters: a library calls them.
var givenCalls = map[string]string{
	"internal/node/socket Upgrade": "a transport's upgrader, as libp2p calls it",
}

// budgets finds structs, parameter lists and interfaces that ask too much of a reader.
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
	switch t := spec.Type.(type) {
	case *ast.StructType:
		count := t.Fields.NumFields()
		if _, allowed := wideStructs[s.pkg()+" "+spec.Name.Name]; count > maxFields && !allowed {
			return []string{s.at(spec.Pos(), "struct %s has %d fields: more than %d are more than one thing: "+
				"split it by duty, or give its reason in wideStructs", spec.Name.Name, count, maxFields)}
		}
	case *ast.InterfaceType:
		count := 0
		for _, m := range t.Methods.List {
			count += len(m.Names)
		}
		if count > maxMethods {
			return []string{s.at(spec.Pos(), "interface %s has %d methods: more than %d are more than one ability: split it",
				spec.Name.Name, count, maxMethods)}
		}
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

// short finds files that are no longer than a reader needs to open them.
func short(s source) []string {
	_, allowed := shortFiles[s.path]
	alone := s.file.Name.Name == "main" || path.Base(s.path) == "doc.go" || buildTagged(s)
	if s.isTest() || ast.IsGenerated(s.file) || allowed || alone || s.lines >= minFile {
		return nil
	}
	return []string{s.at(s.file.Package, "%d lines: move them to the file that uses them, or give a reason in shortFiles",
		s.lines)}
}

// buildTagged reports whether a file is one of several for different machines.
func buildTagged(s source) bool {
	for _, group := range s.file.Comments {
		if group.Pos() < s.file.Package && strings.HasPrefix(group.List[0].Text, "//go:build ") {
			return true
		}
	}
	for _, suffix := range []string{"_linux.go", "_windows.go", "_darwin.go", "_amd64.go", "_arm64.go"} {
		if strings.HasSuffix(s.path, suffix) {
			return true
		}
	}
	return false
}

func TestTypesAndCallsAreSmall(t *testing.T) { check(t, budgets) }

func TestFilesAreWorthOpening(t *testing.T) { check(t, short) }

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

// maxCommand bounds the lines of cmd/peer without its tests: flags, printing and exit codes. The
// application lives in internal/app.
const maxCommand = 3000

func TestTheCommandIsThin(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, s := range all.sources {
		if s.pkg() == "cmd/peer" && !s.isTest() {
			lines += s.lines
		}
	}
	if lines == 0 || lines > maxCommand {
		t.Errorf("cmd/peer has %d lines, want 1 to %d: move work to internal/app", lines, maxCommand)
	}
}

func TestExceptionsToBudgetsAreNeeded(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	fields, parameters := map[string]int{}, map[string]int{}
	for _, s := range all.sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok {
				parameters[s.pkg()+" "+f.Name.Name] = f.Type.Params.NumFields()
			}
			if spec, ok := n.(*ast.TypeSpec); ok {
				if t, ok := spec.Type.(*ast.StructType); ok {
					fields[s.pkg()+" "+spec.Name.Name] = t.Fields.NumFields()
				}
			}
			return true
		})
	}
	for name := range wideStructs {
		if fields[name] <= maxFields {
			t.Errorf("wideStructs: %s has %d fields: remove the exception", name, fields[name])
		}
	}
	for name := range givenCalls {
		if parameters[name] <= maxParameters {
			t.Errorf("givenCalls: %s has %d parameters: remove the exception", name, parameters[name])
		}
	}
	for name := range shortFiles {
		if text, there := all.texts[name]; !there || strings.Count(string(text), "\n") >= minFile {
			t.Errorf("shortFiles: %s is gone or long enough: remove the exception", name)
		}
	}
}

func TestBudgetsAreHeld(t *testing.T) {
	fields := "package sim\ntype T struct{ " + strings.Repeat("a, ", maxFields) + "b int }\n"
	expect(t, budgets, "sim/x.go", fields, "struct T has 16 fields")
	expect(t, budgets, "sim/x_test.go", fields, "")
	expect(t, budgets, "configs/x.go", strings.Replace(fields, "T struct", "Compressor struct", 1), "")
	expect(t, budgets, "sim/x.go", "package sim\ntype t struct{ a, b int }\nfunc f(a, b, c, d, e int) {}\n", "")
	expect(t, budgets, "sim/x.go", "package sim\nfunc f(a, b, c, d, e, f int) {}\n", "function f has 6 parameters")
	expect(t, budgets, "sim/x.go", "package sim\ntype i interface{ A(); B(); C(); D(); E(); F() }\n",
		"interface i has 6 methods")
	expect(t, budgets, "sim/x.go", "package sim\ntype i interface{ j; A(); B(); C(); D(); E() }\n", "")
	expect(t, short, "sim/x.go", "package sim\n", "1 lines")
	expect(t, short, "sim/doc.go", "package sim\n", "")
	expect(t, short, "sim/x_linux.go", "package sim\n", "")
	expect(t, short, "sim/x.go", "//go:build unix\n\npackage sim\n", "")
	expect(t, short, "sim/x.go", "package sim\n"+strings.Repeat("\n", minFile), "")
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
