package configs

import (
	"slices"
	"strings"
)

// Annotated returns the configuration as YAML does, with the comments of its run file: above a key, behind it and at
// the end.
func (l *Loaded) Annotated() []byte {
	return l.annotate(l.Config.WithoutSecrets().YAML())
}

// annotate adds the comments of the run file to a text with keys of it.
func (l *Loaded) annotate(text []byte) []byte {
	i := slices.IndexFunc(l.layers, func(l *layer) bool { return l.file != nil })
	if i < 0 {
		return text
	}
	notes := l.layers[i].file.comments()
	made := parseDocument("", text)
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	heads, feet := map[int]string{}, map[int]string{}
	for key, at := range made.places {
		n := at.key.Line - 1
		if c := notes.behind[key]; c != "" {
			lines[n] += "  " + c
		}
		indent := strings.Repeat(" ", at.key.Column-1)
		for _, c := range notes.above[key] {
			heads[n] += indent + c + "\n"
		}
		for _, c := range notes.below[key] {
			feet[n] += "\n" + indent + c
		}
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(heads[i] + line + feet[i] + "\n")
	}
	if len(notes.end) > 0 {
		b.WriteString("\n" + strings.Join(notes.end, "\n") + "\n")
	}
	return []byte(b.String())
}

// The notes of a document are its comments by the keys that they stand above, behind or below, and those that follow
// all keys.
type notes struct {
	above, below map[string][]string
	behind       map[string]string
	end          []string
}

// comments returns the comments of a document. One that is indented more than the next key belongs to the section that
// ends above it.
func (d *document) comments() notes {
	all := notes{above: map[string][]string{}, below: map[string][]string{}, behind: map[string]string{}}
	first, last := d.keysOfLines()
	before := ""
	take := func(block []string, indent int) (rest []string) {
		for _, line := range block {
			text := strings.TrimLeft(line, " ")
			if len(line)-len(text) > indent && before != "" {
				all.below[before] = append(all.below[before], text)
			} else {
				rest = append(rest, text)
			}
		}
		return rest
	}
	var block []string
	for n, line := range d.lines {
		line = strings.TrimRight(line, " \t\r")
		key := first[n+1]
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
			block = append(block, line)
		case key != "":
			all.above[key] = take(block, d.places[key].key.Column-1)
			block = nil
			before = last[n+1]
			if i := commentAt(line); i >= 0 {
				all.behind[before] = line[i:]
			}
		}
	}
	all.end = take(block, 0)
	return all
}

// keysOfLines returns the first and the last key that begins in each line.
func (d *document) keysOfLines() (first, last map[int]string) {
	first, last = map[int]string{}, map[int]string{}
	for key, at := range d.places {
		line, column := at.key.Line, at.key.Column
		if f, ok := first[line]; !ok || column < d.places[f].key.Column || column == d.places[f].key.Column &&
			len(key) < len(f) {
			first[line] = key
		}
		if l, ok := last[line]; !ok || column > d.places[l].key.Column {
			last[line] = key
		}
	}
	return first, last
}

// commentAt returns where the comment of a line begins, -1 without one: behind white space and outside quotes.
func commentAt(line string) int {
	quote := rune(0)
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '#' && i > 0 && (line[i-1] == ' ' || line[i-1] == '\t'):
			return i
		}
	}
	return -1
}
