package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const scriptKey = "faults.script"

// faultLayer reads the arguments of --fault, which are further entries of the script
// that earlier layers gave: words like "at=40 kill=3", or a section like {at: 40, kill: 3}.
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

// repeats reports whether a key lies in an entry of the script that an earlier layer
// gave: the list of a layer of faults begins with these.
func (l *layer) repeats(key string) bool {
	rest, in := strings.CutPrefix(key, scriptKey+".")
	if !in {
		return false
	}
	number, _, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	return err == nil && i < l.repeated
}
