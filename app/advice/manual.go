package advice

import (
	"context"
	_ "embed"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"gossiptrainer/internal/safefile"
)

// manual is the page that explains exit codes and warnings.
const manual = "troubleshooting.md"

// Section names a section of the page that explains exit codes and warnings.
func Section(anchor string) string { return Page(manual + "#" + anchor) }

// Page names a page of the documents, or a section of it, where this machine has them.
func Page(name string) string { return pages() + "/" + name }

var pages = sync.OnceValue(func() string {
	program, err := os.Executable()
	if err != nil {
		return inSource
	}
	return pagesOf(program)
})

// inSource is the folder of the documents in the source.
const inSource = "docs"

// pagesOf returns the folder of the documents that a package installs with a program, or else that in the source.
func pagesOf(program string) string {
	installed := filepath.Join(filepath.Dir(program), "..", "share", "doc", "gossiptrainer", inSource)
	if safefile.Check(filepath.Join(installed, manual)) != nil {
		return inSource
	}
	return installed
}

// A Fix is a section of the manual with the warnings that it explains. A warning
// stands here as in the code that prints it, with the verbs of package fmt.
type Fix struct {
	Anchor   string
	Warnings []string
}

// fixes has each section as "# anchor", and below it the warnings, one a line.
//
//go:embed fixes.txt
var fixes string

// Fixes returns the sections that explain warnings.
func Fixes() (all []Fix) {
	for section := range strings.SplitSeq(fixes, "# ") {
		if anchor, warnings, ok := strings.Cut(section, "\n"); ok {
			all = append(all, Fix{anchor, strings.Split(strings.TrimSpace(warnings), "\n")})
		}
	}
	return all
}

// A recognizer knows the warnings of one section.
type recognizer struct {
	anchor  string
	pattern *regexp.Regexp
}

// verb matches one of package fmt.
var verb = regexp.MustCompile(`%[-+#0-9.]*[a-z]`)

// Pieces returns the fixed parts of a warning: those between its verbs.
func Pieces(warning string) []string { return verb.Split(warning, -1) }

var recognizers = sync.OnceValue(func() (known []recognizer) {
	for _, r := range Fixes() {
		for _, warning := range r.Warnings {
			pieces := Pieces(warning)
			for i, piece := range pieces {
				pieces[i] = regexp.QuoteMeta(piece)
			}
			known = append(known, recognizer{r.Anchor, regexp.MustCompile("(?s)^" + strings.Join(pieces, ".*") + "$")})
		}
	}
	return known
})

// see names the section that explains a warning, "" if none does.
func see(warning string) string {
	for _, r := range recognizers() {
		if r.pattern.MatchString(warning) {
			return Section(r.anchor)
		}
	}
	return ""
}

// Warning is the line that shows a warning.
func Warning(text string) string {
	line := "warning: " + text
	if section := see(text); section != "" {
		line += "; see " + section
	}
	return line
}

// Pointing returns a handler that adds to every warning and error the section that
// explains it.
func Pointing(h slog.Handler) slog.Handler { return pointing{h} }

type pointing struct{ slog.Handler }

func (p pointing) Handle(ctx context.Context, r slog.Record) error {
	if section := see(r.Message); r.Level >= slog.LevelWarn && section != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("see", section))
	}
	return p.Handler.Handle(ctx, r)
}

func (p pointing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return pointing{p.Handler.WithAttrs(attrs)}
}

func (p pointing) WithGroup(name string) slog.Handler { return pointing{p.Handler.WithGroup(name)} }
