package configs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile  = 1 << 20 // bytes of a run file
	maxDepth = 16      // nested lists and sections; a run file has five
	maxKeys  = 10_000  // a roster of a thousand has two thousand
)

// A document is one YAML text as plain values, with the place of every key.
//
// It has only sections, lists and scalars. Anchors, aliases, tags and merge keys are refused, so that a text cannot
// grow while it is read.
type document struct {
	name     string
	lines    []string
	root     any              // map[string]any for a run file
	places   map[string]place // by dotted path
	problems []Problem
}

type place struct{ key, value token.Position }

// parseDocument reads a file. It returns unreadable parts as problems.
func parseDocument(name string, text []byte) *document { return parseValue(name, "", text) }

// parseValue reads text as the value of a key, "" for a whole file. It returns unreadable parts as problems.
func parseValue(name, key string, text []byte) *document {
	d := &document{name: name, lines: strings.Split(string(text), "\n"), places: map[string]place{}}
	if !d.readable(text) {
		return d
	}
	tokens := lexer.Tokenize(string(text))
	if !d.plain(tokens) {
		return d
	}
	file, err := parse(tokens)
	if err != nil {
		var syntax yaml.Error
		if !errors.As(err, &syntax) {
			d.problem("", 1, 1, err.Error())
			return d
		}
		message := syntax.GetMessage()
		at := syntax.GetToken().Position
		if strings.Contains(d.line(at.Line), "\t") && strings.Contains(message, "\t") {
			message = "a tab cannot indent YAML: use spaces"
		}
		d.problem("", at.Line, at.Column, message)
		return d
	}
	switch bodies := bodies(file); len(bodies) {
	case 0:
		d.problem("", 1, 1, "the file is empty: state at least a name")
	case 1:
		d.root = d.value(key, bodies[0])
	default:
		at := bodies[1].GetToken().Position
		d.problem("", at.Line, 1, "a second document: a run file holds one")
	}
	return d
}

// parse calls the YAML parser and turns a panic of it into an error.
func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML: %v", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func bodies(file *ast.File) []ast.Node {
	var all []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			all = append(all, doc.Body)
		}
	}
	return all
}

// readable reports whether text is UTF-8 without control characters.
func (d *document) readable(text []byte) bool {
	switch {
	case len(text) > maxFile:
		d.lines = nil
		d.problem("", 1, 1, fmt.Sprintf("the file has %d bytes: a run file has at most %d", len(text), maxFile))
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		d.problem("", 1, 1, "the file begins with a byte order mark: save it as UTF-8 without one")
	default:
		i := bytes.IndexFunc(text, func(r rune) bool {
			return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
		})
		if i < 0 {
			return true
		}
		line := bytes.Count(text[:i], []byte("\n")) + 1
		column := utf8.RuneCount(text[bytes.LastIndexByte(text[:i], '\n')+1:i]) + 1
		d.lines = nil // not fit for a terminal
		d.problem("", line, column, "not a text file: a byte that no UTF-8 text holds")
	}
	return false
}

// plain refuses the parts of YAML that run files do not use. It also refuses sizes that would make the parser slow,
// whose time is quadratic in depth and in keys.
func (d *document) plain(tokens token.Tokens) bool {
	unused := map[token.Type]string{
		token.AnchorType: "an anchor", token.AliasType: "an alias", token.TagType: "a tag",
		token.MergeKeyType: "a merge key", token.MappingKeyType: "a complex key", token.DirectiveType: "a directive",
	}
	flow, entries, keys := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			entries++
		case token.MappingValueType:
			keys++
			entries = 0
		default:
			entries = 0
		}
		what, found := unused[t.Type]
		switch {
		case found:
			d.problem("", t.Position.Line, t.Position.Column, what+": not used in run files")
			return false
		case flow > maxDepth || entries > maxDepth || t.Position.IndentNum > 8*maxDepth:
			d.problem("", t.Position.Line, t.Position.Column, "nested too deeply")
			return false
		case keys > maxKeys:
			d.problem("", t.Position.Line, t.Position.Column, fmt.Sprintf("more than %d keys", maxKeys))
			return false
		}
	}
	return true
}

// unusable stands for a value that is already in problems.
type unusable struct{}

// value turns a node into plain values and notes the places below path.
func (d *document) value(path string, node ast.Node) any {
	switch n := node.(type) {
	case *ast.MappingNode:
		return d.mapping(path, n)
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			at := join(path, strconv.Itoa(i))
			p := start(item)
			d.places[at] = place{key: p, value: p}
			if list[i] = d.value(at, item); list[i] == (unusable{}) {
				return unusable{}
			}
		}
		return list
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return d.number(path, n.Token, n.Value)
	case *ast.FloatNode:
		return d.number(path, n.Token, n.Value)
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.StringNode:
		if s := find(path); n.Token.Type != token.StringType || !floatPattern.MatchString(n.Value) ||
			s != nil && s.Type == "string" {
			return n.Value
		}
		return d.number(path, n.Token, n.Value)
	case *ast.InfinityNode, *ast.NanNode:
		p := start(n)
		d.problem(path, p.Line, p.Column, "must be a finite number, got "+n.GetToken().Value)
		return unusable{}
	}
	p := start(node)
	d.problem(path, p.Line, p.Column, "not used in run files")
	return unusable{}
}

// floatPattern matches all numbers in decimal notation, decimalPattern those that every reader of YAML takes for the
// same number: a leading zero means octal to some.
var (
	floatPattern   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	decimalPattern = regexp.MustCompile(`^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// number reads a number, whose value is the parser's or, for 5e-4 and integers beyond 64 bit, a string. It refuses
// 010, 0x10 and 1_000, in which people and programs read different numbers. A name or label is the text itself.
func (d *document) number(path string, t *token.Token, value any) any {
	at := t.Position
	switch s := find(path); {
	case isName(s) || isLabel(path):
		return t.Value
	case !decimalPattern.MatchString(t.Value):
		d.problem(path, at.Line, at.Column, notDecimal(t.Value, value))
		return unusable{}
	}
	if _, plain := value.(string); !plain {
		return value
	}
	v, err := strconv.ParseFloat(t.Value, 64)
	if err != nil || math.IsInf(v, 0) {
		d.problem(path, at.Line, at.Column, "must be a finite number, got "+t.Value)
		return unusable{}
	}
	return v
}

// leadingZeros matches those that stand before another digit.
var leadingZeros = regexp.MustCompile(`^([-+]?)0+([0-9])`)

// notDecimal says what to write in place of a number that is not in decimal notation. YAML may read it as value.
func notDecimal(text string, value any) string {
	said := "must be a number in decimal notation, got " + text
	if floatPattern.MatchString(text) {
		return fmt.Sprintf("%s: write %s; a leading zero means octal to some programs", said,
			leadingZeros.ReplaceAllString(text, "$1$2"))
	}
	return fmt.Sprintf("%s: write %v", said, value)
}

func (d *document) mapping(path string, n *ast.MappingNode) map[string]any {
	values := make(map[string]any, len(n.Values))
	for _, pair := range n.Values {
		key := pair.Key.GetToken()
		name := key.Value
		at := join(path, name)
		if first, double := d.places[at]; double {
			d.problem(at, key.Position.Line, key.Position.Column,
				fmt.Sprintf("given twice, first in line %d", first.key.Line))
			continue
		}
		found := place{key: *key.Position, value: start(pair.Value)}
		if _, none := pair.Value.(*ast.NullNode); none {
			found.value = found.key
		}
		d.places[at] = found
		if v := d.value(at, pair.Value); v != (unusable{}) {
			values[name] = v
		}
	}
	return values
}

// start returns where a node begins: for a section its first key.
func start(node ast.Node) token.Position {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return *m.Values[0].Key.GetToken().Position
	}
	return *node.GetToken().Position
}

func (d *document) line(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	return strings.TrimRight(d.lines[n-1], "\r")
}

func (d *document) problem(key string, line, column int, message string) {
	d.problems = append(d.problems, d.at(Problem{Key: key, Message: message}, line, column))
}

// at adds the place of a problem in the document.
func (d *document) at(p Problem, line, column int) Problem {
	const widest = 200 // an excerpt is for people
	p.Source, p.Line, p.Column = d.name, line, column
	if text := d.line(line); column <= widest && utf8.RuneCountInString(text) <= widest {
		p.Excerpt = maskLine(text)
	}
	return p
}

// nearest returns the place of a key, or of the closest section that holds it.
func (d *document) nearest(key string) place {
	for {
		if at, ok := d.places[key]; ok {
			return at
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return place{key: token.Position{Line: 1, Column: 1}, value: token.Position{Line: 1, Column: 1}}
		}
		key = key[:i]
	}
}
