package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// A layer is one source of values: the defaults, a file, the environment, --set or flags. A later one wins.
type layer struct {
	name     string
	values   *koanf.Koanf
	written  map[string]string // how each key was given, for layers that are no file
	file     *document         // nil for the others
	dir      string            // of the file
	lenient  bool              // a key without effect is dropped
	repeated int               // entries of the script that earlier layers gave
	problems []Problem
}

func newLayer(name string) *layer {
	return &layer{name: name, values: koanf.New("."), written: map[string]string{}}
}

// load takes a whole tree of values.
func (l *layer) load(values map[string]any) {
	if err := l.values.Load(confmap.Provider(values, ""), nil); err != nil {
		panic(fmt.Sprintf("internal error: configs: %s: %v", l.name, err))
	}
}

// give sets one key, as it was written.
func (l *layer) give(key, written string, value any) {
	l.written[key] = written
	if err := l.values.Set(key, value); err != nil {
		panic(fmt.Sprintf("internal error: configs: %s: %v", written, err))
	}
}

// giveText sets one key to a value in YAML. For a key that holds a string, any scalar is the string itself: quotes do
// not survive a shell.
func (l *layer) giveText(key, written, text string) {
	s := find(key)
	if s != nil && s.Type == "string" && !strings.ContainsAny(text, "\n\"'") {
		l.give(key, written, strings.TrimSpace(text))
		return
	}
	if strings.TrimSpace(text) == "" {
		l.problems = append(l.problems, Problem{Key: key, Message: "has no value", Source: written})
		return
	}
	if value, ok := l.parse(key, written, text); ok {
		l.give(key, written, value)
	}
}

// parse reads a value in YAML. It returns unreadable parts as problems.
func (l *layer) parse(key, written, text string) (value any, ok bool) {
	doc := parseValue(written, key, []byte(text))
	for _, p := range doc.problems {
		l.problems = append(l.problems, Problem{Key: cmp.Or(p.Key, key), Message: p.Message, Hint: p.Hint, Source: written})
	}
	return doc.root, len(doc.problems) == 0
}

// at says where in the layer the problem is: at the key itself for an unknown one, at its value otherwise.
func (l *layer) at(p Problem, unknown bool) Problem {
	if l.file != nil {
		at := l.file.nearest(p.Key)
		if unknown {
			return l.file.at(p, at.key.Line, at.key.Column)
		}
		return l.file.at(p, at.value.Line, at.value.Column)
	}
	p.Source = l.name
	for _, key := range slices.Sorted(maps.Keys(l.written)) {
		if within(key, p.Key) || within(p.Key, key) {
			p.Source = l.written[key]
		}
	}
	return p
}

// defaultLayer returns the defaults, which all loads share and none changes.
var defaultLayer = sync.OnceValue(func() *layer {
	l := newLayer("default")
	l.load(plainValue(Default()).(map[string]any))
	l.check()
	return l
})

// empty reports whether the layer has no values, as most layers of a run do.
func (l *layer) empty() bool { return len(l.values.Keys()) == 0 }

// fileLayer reads a run file or, by name, an embedded preset.
func fileLayer(name string) *layer {
	text, shown, err := readSource(name, Presets())
	if IsComparison(name) {
		err = &Error{[]Problem{{Message: "is a comparison, and no run file", Hint: "peer compare " + name + " runs it",
			Source: name}}}
	}
	l := newLayer(shown)
	if err != nil {
		var located *Error
		if errors.As(err, &located) {
			l.problems = located.Problems
		}
		return l
	}
	l.dir = filepath.Dir(name)
	l.file = parseDocument(shown, text)
	l.problems = l.file.problems
	switch root := l.file.root.(type) {
	case map[string]any:
		l.load(root)
	case nil:
	default:
		l.problems = append(l.problems, l.file.at(Problem{Message: "a run file holds \"key: value\" lines"}, 1, 1))
	}
	return l
}

// envLayer reads variables like PEER_ALGORITHM__BITS=4. Names without a double underscore, like PEER_DATA, are no
// configuration.
func envLayer(environ []string) *layer {
	l := newLayer("environment")
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, "PEER_")
		if !ours || !strings.Contains(rest, "__") {
			continue
		}
		l.giveText(strings.ToLower(strings.ReplaceAll(rest, "__", ".")), "environment variable "+name, text)
	}
	return l
}

// setLayer reads the arguments of --set.
func setLayer(set []string) *layer {
	l := newLayer("--set")
	for _, entry := range set {
		written := "--set " + Mask(entry)
		key, text, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			l.problems = append(l.problems, Problem{Message: "must be key=value", Source: written})
			continue
		}
		l.giveText(key, written, text)
	}
	return l
}

// allLayer reads settings that are for all cells of a comparison.
func allLayer(set []string) *layer {
	l := setLayer(set)
	l.lenient = true
	return l
}

// flagLayer takes the values that flags of their own gave.
func flagLayer(flags map[string]any) *layer {
	l := newLayer("flag")
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		l.give(key, "flag for "+key, flags[key])
	}
	return l
}

// faultLayer reads the arguments of --fault, which are further entries of the script that earlier layers gave: words
// like "at=40 kill=3", or a section like {at: 40, kill: 3}.
func faultLayer(earlier any, faults []string) *layer {
	l := newLayer("--fault")
	script, _ := earlier.([]any)
	script, l.repeated = slices.Clone(script), len(script)
	for _, text := range faults {
		key, written := fmt.Sprintf("%s.%d", scriptKey, len(script)), "--fault "+text
		yaml, wrong := faultWords(text)
		if wrong != "" {
			l.problems = append(l.problems, Problem{Key: key, Message: wrong, Hint: "at=40 kill=3", Source: written})
			continue
		}
		if entry, ok := l.parse(key, written, yaml); ok {
			l.written[key] = written
			script = append(script, entry)
		}
	}
	l.load(map[string]any{"faults": map[string]any{"script": script}})
	return l
}

// faultWords returns the words of one argument as a section in YAML.
func faultWords(text string) (yaml, wrong string) {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
		return text, ""
	}
	var pairs []string
	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || value == "" {
			return "", fmt.Sprintf("must be words like key=value, got %s", show(word))
		}
		pairs = append(pairs, key+": "+value)
	}
	if len(pairs) == 0 {
		return "", "must say what happens"
	}
	return "{" + strings.Join(pairs, ", ") + "}", ""
}

// repeats reports whether a key lies in an entry of the script that an earlier layer gave: the list of a layer of
// faults begins with these.
func (l *layer) repeats(key string) bool {
	rest, in := strings.CutPrefix(key, scriptKey+".")
	if !in {
		return false
	}
	number, _, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	return err == nil && i < l.repeated
}
