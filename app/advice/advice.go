// Package advice has errors that say what to do. It finds the name that a misspelt word may stand for, and writes
// command lines for a shell.
//
// It knows no command, and leaves exit codes to the command line.
package advice

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"gossiptrainer/configs"
	"gossiptrainer/internal/human"
)

// A UsageError says that the arguments of a command are wrong.
type UsageError struct {
	err  error
	hint string
}

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

// Hint says what to do, "" where there is nothing to say.
func (e *UsageError) Hint() string { return e.hint }

// Usage returns a *UsageError that wraps err. The hint may be empty.
func Usage(err error, hint string) error { return &UsageError{err, hint} }

// Usagef returns a *UsageError without a hint.
func Usagef(format string, args ...any) error { return &UsageError{err: fmt.Errorf(format, args...)} }

// OneOf says that a word is not one of the candidates.
func OneOf(what, word string, candidates []string) error {
	e := &UsageError{err: fmt.Errorf("%s %q: want one of %s", what, word, strings.Join(candidates, ", "))}
	if near := Nearest(word, candidates); near != "" {
		e.hint = "did you mean " + near + "?"
	}
	return e
}

// An Error is an error with what to do about it.
type Error struct {
	error
	hint string
}

func (e *Error) Unwrap() error { return e.error }

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

// With adds a hint to an error, as an *Error.
func With(err error, hint string) error { return &Error{err, hint} }

// Is reports whether an error of type E is in the tree of err.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Nearest returns the candidate that is closest to word, or "" if none is close.
func Nearest(word string, candidates []string) string {
	const furthest = 2 // letters that may differ
	found, best := "", furthest+1
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(word, c); d < best {
			found, best = c, d
		}
	}
	return found
}

// Command writes a command line that a shell reads as these words, except for a secret,
// which it masks.
func Command(words ...string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = configs.Mask(word)
		if word = words[i]; word == "" || strings.Trim(word, plain) != "" {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Next writes the line that names a command that leads on from here. A terminal that is too narrow gets several lines,
// which a shell reads as one command where they are copied.
func Next(w io.Writer, command, why string) {
	width := 0
	if terminal, ok := w.(interface{ Width() int }); ok {
		width = terminal.Width()
	}
	fmt.Fprintln(w, strings.Join(next(command, why, width), "\n"))
}

// next returns the lines of Next for a width; 0 is no bound.
func next(command, why string, width int) []string {
	const begin, gap, on = "next: ", "   ", ` \`
	if whole := begin + command + gap + why; width <= 0 || utf8.RuneCountInString(whole) <= width {
		return []string{whole}
	}
	var lines []string
	line := begin
	for i, word := range shellWords(command) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line+" "+word+on) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line+on), strings.Repeat(" ", len(begin))+word
		}
	}
	return append(append(lines, line), human.Fold("  "+why, width)...)
}

// shellWords splits a command that Command has written at the blanks between its words.
func shellWords(command string) []string {
	var words []string
	begin, quoted, escaped := 0, false, false
	for i, r := range command {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && !quoted:
			escaped = true
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words, begin = append(words, command[begin:i]), i+1
		}
	}
	return append(words, command[begin:])
}

// InOurVoice rewrites lines that begin with "error: " to begin as all our errors.
func InOurVoice(detail string) string {
	lines := strings.Split(detail, "\n")
	for i, line := range lines {
		if text, ok := strings.CutPrefix(line, "error: "); ok {
			lines[i] = "peer: " + text
		}
	}
	return strings.Join(lines, "\n")
}
