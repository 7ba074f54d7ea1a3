package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
)

// spoken returns the text of a constant string or of the first argument of a
// call of Sprintf; "" if there is none.
func spoken(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		if x, y := spoken(e.X), spoken(e.Y); x != "" && y != "" {
			return x + y
		}
	case *ast.CallExpr:
		if name(e.Fun) == "Sprintf" {
			return spoken(e.Args[0])
		}
	}
	return ""
}

// name returns the last word of an identifier or a selector.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// passedOn are arguments that are no constant texts. The test finds their texts where they are created.
var passedOn = map[string]string{
	"node/audience.go":          "a Note of the core",
	"node/socket/refusals.go":   "an argument of Tell",
	"node/handshake/refusal.go": "an argument of Tell",
	"gossip/peer/neighbour.go":  "an argument of warn",
}

// A speaker is a function whose texts are warnings that others print.
var speakers = map[string][]string{
	"internal/record/watch.go":       {"See"},
	"app/runfolder/space.go":         {"Error"},
	"node/reach.go":                  {"CheckReach", "judgeReach"},
	"internal/data/labels.go":        {"missingClass"},
	"internal/data/watch.go":         {"rowNumbers", "lostValues"},
	"internal/shards/classes.go":     {"alikeClasses", "untrainedClasses", "classesWithoutWorker"},
	"internal/experiment/checks.go":  {"checkClip"},
	"internal/compress/compress.go":  {"Check", "neverFits"},
	"internal/experiment/network.go": {"checkSecurity"},
	"app/session/session.go":         {"enter", "Abandon"},
	"app/session/summary.go":         {"Summary"},
}

// warnings returns the warnings of a file. A text is unknown if it is not constant or is printed without its section.
func warnings(path string, file *ast.File) (said []string, unknown bool) {
	hear := func(e ast.Expr) {
		if text := spoken(e); text != "" {
			said = append(said, text)
		} else {
			unknown = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch called := name(n.Fun); {
			case (called == "Warn" || called == "Error") && logger(n.Fun):
				hear(n.Args[0])
			case (called == "Tell" || called == "TellOnce") && len(n.Args) > 2 && strings.EqualFold(name(n.Args[0]), "log"):
				hear(n.Args[1])
			case called == "Tell" && len(n.Args) > 3 && strings.EqualFold(name(n.Args[1]), "log"): // of package handshake
				hear(n.Args[2])
			case called == "warn" && strings.HasPrefix(path, "gossip/"):
				hear(n.Args[1])
			}
		case *ast.CompositeLit:
			kind, text := value(n, "Kind"), value(n, "Text")
			if kind != nil && text != nil && slices.Contains([]string{"Warning", "Trouble"}, name(kind)) {
				hear(text)
			}
		case *ast.BasicLit:
			if text := spoken(n); strings.HasPrefix(text, "warning: ") && text != "warning: " {
				unknown = true // advice.Warning writes such lines
			}
		case *ast.FuncDecl:
			if slices.Contains(speakers[path], n.Name.Name) {
				said = append(said, texts(n)...)
			}
		}
		return true
	})
	return said, unknown
}

// logger reports whether a method belongs to a logger.
func logger(method ast.Expr) bool {
	of, ok := method.(*ast.SelectorExpr)
	return ok && strings.EqualFold(name(of.X), "log")
}

// value returns the value of a field in a literal.
func value(lit *ast.CompositeLit, field string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && name(kv.Key) == field {
			return kv.Value
		}
	}
	return nil
}

// texts returns the constant texts that a function formats or appends.
func texts(f *ast.FuncDecl) (all []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var text string
		switch name(call.Fun) {
		case "Sprintf":
			text = spoken(call)
		case "append":
			if lit, ok := call.Args[len(call.Args)-1].(*ast.BinaryExpr); ok {
				text = spoken(lit)
			}
		}
		if text != "" {
			all = append(all, text)
		}
		return true
	})
	return all
}

// product are the folders with code that warns.
var product = []string{
	"algos", "app", "cmd", "configs", "gossip", "internal", "lab", "model", "moniqua", "node", "quant", "topology",
}

// printed returns the warnings of the product, each with a file that has it.
func printed(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(strings.TrimPrefix(path, root))
		said, unknown := warnings(path, file)
		if unknown && passedOn[path] == "" {
			t.Errorf("%s: no section can explain a warning: its text is not constant, or advice.Warning does not print it",
				path)
		}
		for _, text := range said {
			all[text] = path
		}
		return nil
	}
	for _, folder := range product {
		if err := filepath.WalkDir(root+folder, walk); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sections returns the sections of a Markdown text by their headings.
func sections(text string) map[string]string {
	all := map[string]string{}
	starts := regexp.MustCompile(`(?m)^#+ (.*)\n`).FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		title := strings.ToLower(strings.ReplaceAll(text[at[2]:at[3]], " ", "-"))
		all[title] = text[at[1]:end]
	}
	return all
}

func TestEveryWarningIsExplained(t *testing.T) {
	page, err := os.ReadFile(root + "docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	said, explained := printed(t), sections(string(page))
	for _, fix := range advice.Fixes() {
		section, there := explained[fix.Anchor]
		if !there {
			t.Errorf("docs/troubleshooting.md has no section %s", fix.Anchor)
		}
		section = strings.Join(strings.Fields(section), " ")
		for _, warning := range fix.Warnings {
			if said[warning] == "" {
				t.Errorf("app/advice/fixes.txt has a warning that no code prints: %s", warning)
			}
			delete(said, warning)
			for _, piece := range advice.Pieces(warning) {
				if there && !strings.Contains(section, strings.TrimSpace(piece)) {
					t.Errorf("docs/troubleshooting.md#%s does not quote %q", fix.Anchor, piece)
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(said)) {
		t.Errorf("%s warns: %s: no section of docs/troubleshooting.md explains it: write one, and name it in "+
			"app/advice/fixes.txt", said[text], text)
	}
}

func TestWarningsAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f() {
	log.Warn("one")
	c.Log.Error(fmt.Sprintf("two %d"+" and more", 2), "err", err)
	refused.Tell(r.log, "three", "reason")
	p.warn(n, "four")
	g.Note(gossip.Note{Kind: gossip.Trouble, Text: "five"})
	g.Note(gossip.Note{Kind: gossip.Blamed, Text: "not shown"})
	log.Info("six")
	err.Error()
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	said, unknown := warnings("gossip/x.go", file)
	if want := []string{"one", "two %d and more", "three", "four", "five"}; unknown || !slices.Equal(said, want) {
		t.Errorf("%q, unknown %v; want %q", said, unknown, want)
	}
	file, err = parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { log.Warn(text) }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if said, unknown := warnings("x.go", file); !unknown || len(said) > 0 {
		t.Errorf("%q, unknown %v: want an unknown text", said, unknown)
	}
	file, err = parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { say(`warning: beware`) }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, unknown := warnings("x.go", file); !unknown {
		t.Error("a warning without a section is not found")
	}
}
