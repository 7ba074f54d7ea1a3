// Package setup prepares the machines of a run: it asks for the settings, writes run file and secret, hands them to
// other machines, and takes them over.
//
// Package handover has the conversation between machines, package token the text that begins it. This package judges
// and writes files. It trains nothing.
package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"gossiptrainer/app/advice"
)

// A Screen is where a command of this package talks to its user.
type Screen struct {
	In          io.Reader
	Talk        io.Writer // questions and messages
	Interactive bool      // a person answers on In and reads Talk
	Log         *slog.Logger
	Print       func(result any, text func(io.Writer) error) error
}

func (s Screen) say(format string, args ...any) { fmt.Fprintf(s.Talk, format+"\n", args...) }

// errNoMore says that the input has ended where an answer should be.
var errNoMore = errors.New("the input has ended before all questions were answered: nothing was written")

// An asker asks questions and reads a line for each.
type asker struct {
	Screen
	lines chan string // closed at the end of the input
}

// newAsker begins to read. The read cannot be broken off: it ends with the process.
func newAsker(s Screen) *asker {
	a := &asker{Screen: s, lines: make(chan string)}
	go func() {
		defer close(a.lines)
		for in := bufio.NewScanner(s.In); in.Scan(); {
			a.lines <- in.Text()
		}
	}()
	return a
}

// ask asks until take accepts an answer. An empty answer stands for the suggestion, if there is one.
func (a *asker) ask(ctx context.Context, question, suggestion string, take func(string) error) error {
	for {
		fmt.Fprint(a.Talk, question)
		if suggestion != "" {
			fmt.Fprintf(a.Talk, " [%s]", suggestion)
		}
		fmt.Fprint(a.Talk, ": ")
		var answer string
		select {
		case line, more := <-a.lines:
			if !more {
				a.say("")
				return errNoMore
			}
			answer = strings.TrimSpace(line)
		case <-ctx.Done():
			a.say("")
			return context.Cause(ctx)
		}
		if answer == "" {
			answer = suggestion
		}
		err := take(answer)
		if err == nil {
			return nil
		}
		a.say("  %v", err)
		if hint := hintOf(err); hint != "" {
			a.say("  %s", hint)
		}
	}
}

func hintOf(err error) string {
	hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok {
		return ""
	}
	return hinted.Hint()
}

// missing says which flag is missing where no person answers.
func missing(command, flag, all string) error {
	return advice.Usage(fmt.Errorf("%s: %s is missing: without a terminal, answers come from flags", command, flag), all)
}
