package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gossiptrainer/configs"
)

var update = flag.Bool("update", false, "write outputs of commands into documents, the references and the man pages")

// The references are those of the commands and of the schema. After a change,
//
//	go test ./cmd/peer -run Reference -update
//
// writes them.
func TestReferenceIsCurrent(t *testing.T) {
	root := newRoot(&console{})
	pages := map[string]string{
		"docs/reference/commands.md": commandReference(root),
		"docs/reference/keys.md":     keyReference(),
		"release/man/peer.1":         manPage(root, root),
	}
	for _, cmd := range documented(root) {
		pages["release/man/peer-"+cmd.Name()+".1"] = manPage(root, cmd)
	}
	for name, want := range pages {
		path := filepath.Join("..", "..", filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s is not current (%v): run go test ./cmd/peer -run Reference -update", name, err)
		}
	}
	found, err := filepath.Glob(filepath.Join("..", "..", "release", "man", "*"))
	if err != nil || len(found) != len(pages)-2 {
		t.Errorf("release/man has %d files, want %d (%v): delete those of commands that are gone",
			len(found), len(pages)-2, err)
	}
}

// documented returns the commands below cmd that the references show.
func documented(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			all = append(all, c)
		}
	}
	return all
}

func purpose(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short
}

func commandReference(root *cobra.Command) string {
	var page strings.Builder
	page.WriteString("# Commands\n\nThe help of all commands. " +
		"`go test ./cmd/peer -run Reference -update` writes this page.\n")
	describeCommand(&page, root)
	return page.String()
}

func describeCommand(page *strings.Builder, cmd *cobra.Command) {
	var help bytes.Buffer
	cmd.InitDefaultHelpFlag()
	writeHelp(&help, cmd)
	fmt.Fprintf(page, "\n## %s\n\n```text\n%s```\n", cmd.CommandPath(), help.String())
	for _, c := range documented(cmd) {
		describeCommand(page, c)
	}
}

func keyReference() string {
	var page strings.Builder
	page.WriteString("# Keys\n\nThe keys of run files and comparisons, their defaults and their meaning.\n" +
		"`go test ./cmd/peer -run Reference -update` writes this page.\n\n## Run files\n\n" +
		"Numbers are in decimal notation, as 10, 0.5 or 1e-3: 010, 0x10 and 1_000 are errors, here, with `--set` and in " +
		"flags.\nDurations have a unit, as 1.5ms; 0 needs none. True and false are the only booleans.\n")
	describeKeys(&page, configs.Reference())
	page.WriteString("\n## Comparisons\n")
	describeKeys(&page, configs.ComparisonReference())
	return page.String()
}

func describeKeys(page *strings.Builder, keys []configs.Key) {
	for _, k := range keys {
		fmt.Fprintf(page, "\n### %s\n\n", k.Name)
		for _, line := range folded(k.Description, 118) {
			fmt.Fprintln(page, line)
		}
		facts := [][2]string{{"default", k.Default}, {"allowed", k.Allowed}, {"variable", k.Variable}}
		page.WriteString("\n")
		if k.Same {
			page.WriteString("* the same on all peers\n")
		}
		for _, f := range facts {
			if f[1] == "" {
				continue
			}
			for i, line := range folded(f[0]+": `"+f[1]+"`", 116) {
				page.WriteString([]string{"* ", "  "}[min(i, 1)] + line + "\n")
			}
		}
	}
}

// folded cuts text into lines of at most width letters.
func folded(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// manPage returns the page of a command and of all below it; that of root names the others.
func manPage(root, cmd *cobra.Command) string {
	var page strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&page, ".TH %s 1 \"\" \"gossiptrainer\" \"User commands\"\n", strings.ToUpper(name))
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", name, roff(cmd.Short))
	manBody(&page, "SH", cmd)
	if cmd == root {
		page.WriteString(".SH COMMANDS\n")
		for _, c := range documented(root) {
			fmt.Fprintf(&page, ".TP\n.BR peer\\-%s (1)\n%s\n", roff(c.Name()), roff(c.Short))
		}
		return page.String()
	}
	manBelow(&page, cmd)
	page.WriteString(".SH SEE ALSO\n.BR peer (1)\n")
	return page.String()
}

func manBelow(page *strings.Builder, cmd *cobra.Command) {
	for _, c := range documented(cmd) {
		fmt.Fprintf(page, ".SH %s\n%s\n", strings.ToUpper(roff(c.CommandPath())), roff(c.Short))
		manBody(page, "SS", c)
		manBelow(page, c)
	}
}

func manBody(page *strings.Builder, heading string, cmd *cobra.Command) {
	fmt.Fprintf(page, ".%s Synopsis\n.B %s\n", heading, roff(usage(cmd)))
	fmt.Fprintf(page, ".%s Description\n%s\n", heading, roff(purpose(cmd)))
	if cmd.HasExample() {
		fmt.Fprintf(page, ".%s Examples\n.nf\n%s\n.fi\n", heading, roff(cmd.Example))
	}
	cmd.InitDefaultHelpFlag()
	if !cmd.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(page, ".%s Options\n", heading)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { manFlag(page, f) })
}

func manFlag(page *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	short := ""
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	value, meaning := pflag.UnquoteUsage(f)
	fmt.Fprintf(page, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(short+"--"+f.Name+" "+value)), roff(meaning))
}

func usage(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// roff escapes text: backslashes, hyphens that are typed, and lines that would be requests.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
