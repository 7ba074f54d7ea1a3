package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// everyCommand calls f for root and all commands below it.
func everyCommand(root *cobra.Command, f func(*cobra.Command)) {
	f(root)
	for _, cmd := range root.Commands() {
		everyCommand(cmd, f)
	}
}

func TestHelpIsOneScreenWithExamplesFirst(t *testing.T) {
	everyCommand(newRoot(newConsole()), func(cmd *cobra.Command) {
		if cmd.Hidden { // a process of another command, not for people
			return
		}
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		most := 40
		if !cmd.HasParent() { // a line for each command
			most = 20 + len(cmd.Commands())
		}
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%s: %d lines of help", cmd.CommandPath(), n)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
				t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
		examples, usage := strings.Index(text, "Examples:"), strings.Index(text, "Usage:")
		if examples < 0 || usage < examples {
			t.Errorf("%s: examples at %d, usage at %d", cmd.CommandPath(), examples, usage)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Short[0] < 'a' || cmd.Short[0] > 'z' {
			t.Errorf("%s: title %q", cmd.CommandPath(), cmd.Short)
		}
	})
}

func TestExamplesAreCommandsThatExist(t *testing.T) {
	root := newRoot(newConsole())
	everyCommand(root, func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			_, call, found := strings.Cut(line, "peer ")
			if !found {
				t.Errorf("%s: an example without the program: %q", cmd.CommandPath(), line)
				continue
			}
			call, _, _ = strings.Cut(call, " -- ") // the command of a script follows
			words := strings.Fields(call)
			target, rest, err := root.Find(words)
			if err != nil || target == root {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
				continue
			}
			for _, word := range rest {
				name, isFlag := strings.CutPrefix(word, "--")
				if isFlag && target.Flags().Lookup(name) == nil && target.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s: example %q: no flag %s", cmd.CommandPath(), line, word)
				}
			}
		}
	})
}

// Flags for whole numbers take decimal digits: 010 is not octal.
func TestFlagsTakeDecimalNumbers(t *testing.T) {
	for _, args := range [][]string{
		{"sim", "--cores", "010"}, {"sim", "--cores", "0x2"}, {"compare", "x", "--jobs=010"}, {"run", "--rank", "01"},
		{"invite", "x", "--port", "04001"}, {"quant", "show", "qsgd", "--count", "1_0"},
	} {
		root := newRoot(silentConsole(t))
		root.SetArgs(args)
		if err := root.Execute(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "decimal notation, like 10") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Where members come and go, flags that would have no effect are refused.
func TestViewsTakeNoOtherFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--also", "limit.rate=1mbit"}, {"--until", "loss=1"}, {"--resume"}, {"--cores", "2"}, {"--views", "log"},
	} {
		root := newRoot(silentConsole(t))
		root.SetArgs(append([]string{"sim", "ring8", "--churn", "0.1"}, args...))
		want := "sim: " + args[0] + " has no effect where members come and go: leave it out"
		if args[0] == "--views" {
			want = "sim: --churn has no effect where members come and go from a log (--views): leave it out"
		}
		if err := root.Execute(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
