package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// The first words of the program fit a terminal, and name commands that exist.
func TestTheGreetingFits(t *testing.T) {
	for _, width := range []int{0, 120, 80, 79, 60} {
		var out bytes.Buffer
		if err := greet(&out, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 0 && n > width || n > 80 {
				t.Errorf("%d columns: a line of %d: %s", width, n, line)
			}
		}
		for _, door := range doors {
			if words := strings.Fields(door[1].(string)); !strings.Contains(out.String(), door[1].(string)) {
				t.Errorf("%d columns: no %s", width, door[1])
			} else if cmd, _, err := newRoot(newConsole()).Find(words[1:]); err != nil || !cmd.HasParent() {
				t.Errorf("%s: %v", door[1], err)
			}
		}
	}
}

// Words that newcomers try lead to a command, and none to one that is as long as it differs.
func TestUnknownCommandsLeadOn(t *testing.T) {
	for word, want := range map[string]string{
		"try": "lab", "start": "lab", "train": "lab", "simulate": "sim", "ls": "runs", "predikt": "predict",
		"confg": "config", "xy": "",
	} {
		root := newRoot(newConsole())
		root.SetArgs([]string{word})
		err := root.Execute()
		hint := "see peer --help"
		if want != "" {
			hint = "did you mean peer " + want + "?"
		}
		if got, ok := err.(interface{ Hint() string }); !ok || got.Hint() != hint {
			t.Errorf("%s: %v, want %s", word, err, hint)
		}
	}
}
