package configs

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Problem is one error in a run file or in an override.
type Problem struct {
	Key          string // dotted; "" where the whole source is meant
	Message      string // the error and the allowed values
	Hint         string // what to do, "" if there is nothing better to say
	Source       string // file name, or the override as it was written
	Line, Column int    // of the offending key or value in a file, from 1; 0 outside files
	Excerpt      string // that line of the file

	related []string // further keys that could be the cause
}

// Where returns "file:line:column", or the override.
func (p Problem) Where() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

func (p Problem) String() string {
	var parts []string
	for _, s := range []string{p.Key, p.Message, p.Where()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// detail returns the problem with its excerpt, a caret below the place, and the hint.
func (p Problem) detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "error: %s\n", p)
	if p.Excerpt != "" {
		number := fmt.Sprint(p.Line)
		fmt.Fprintf(&b, "  %s | %s\n", number, p.Excerpt)
		fmt.Fprintf(&b, "  %*s | %s^\n", len(number), "", indentLike(p.Excerpt, p.Column-1))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", p.Hint)
	}
	return b.String()
}

// indentLike returns n characters of white space that stand as wide as the first n characters of line.
func indentLike(line string, n int) string {
	var b strings.Builder
	for range n {
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// An Error lists all problems of a configuration.
type Error struct{ Problems []Problem }

// Errorf returns an Error about one key, not yet located: Loaded.Locate adds where the key was given.
func Errorf(key, format string, args ...any) *Error {
	return &Error{Problems: []Problem{{Key: key, Message: fmt.Sprintf(format, args...)}}}
}

// With names further keys on which the problems depend, and returns e. Locate takes the key that was given last as the
// cause.
func (e *Error) With(keys ...string) *Error {
	for i := range e.Problems {
		e.Problems[i].related = append(e.Problems[i].related, keys...)
	}
	return e
}

// Error returns one line per problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = "configs: " + p.String()
	}
	return strings.Join(lines, "\n")
}

// Detail returns the text for people: per problem a line that begins with "error:", the line of the file with a caret,
// and a hint.
func (e *Error) Detail() string {
	var b strings.Builder
	for _, p := range e.Problems {
		b.WriteString(p.detail())
	}
	return b.String()
}

// A rule is a condition that the schema cannot express. It is checked only if none of its keys is wrong already.
type rule struct {
	keys  []string
	check func(c *Config, wrong complain)
}

// complain reports a problem. The place of a problem with a key of the rule is that of the key of the rule that was
// given last, because it caused the problem.
type complain func(key, format string, args ...any)

// inOrderOfTheFile puts problems of overrides after those of the file.
func inOrderOfTheFile(a, b Problem) int {
	outside := func(p Problem) int {
		if p.Line == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(outside(a)-outside(b), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Key, b.Key))
}
