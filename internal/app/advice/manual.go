package advice

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// manual is the page that explains exit codes and warnings.
const manual = "docs/troubleshooting.md"

// Section names a section of the page that explains exit codes and warnings.
func Section(anchor string) string { return manual + "#" + anchor }

// A Remedy is a section of the manual with the warnings that it explains. A warning
// stands here as in the code that prints it, with the verbs of package fmt.
type Remedy struct {
	Anchor   string
	Warnings []string
}

// Remedies returns the sections that explain warnings.
func Remedies() []Remedy { return slices.Clone(remedies) }

var remedies = []Remedy{
	{"no-mdns", []string{"no mDNS: only peers with an address in the run file are found"}},
	{"refused-peers", []string{"refused a peer", "link refused", "peer refused"}},
	{"refused-connections", []string{
		"refused a connection: too many from its address",
		"refused a stranger silently",
		"refused a machine without the token",
		"closed a connection that showed no secret in time",
	}},
	{"lost-neighbours", []string{
		"going on without a neighbour", "closing a gap of the ring",
		"a lost worker is left out of the average", "the average waits for a lost worker",
	}},
	{"returning-workers", []string{
		"taking back a worker", "taken back into the run",
		"handshake with a returning worker failed", "a returning worker has not received its state",
	}},
	{"unfinished-goodbyes", []string{
		"ending without a neighbour's last word",
		"leaving without a neighbour's bye",
		"some workers have not told their result",
		"could not stop the others",
	}},
	{"bad-messages", []string{"message could not be used", "cut off a neighbour"}},
	{"scripts", []string{
		"the script has not called gossip.join yet",
		"the script has not taken its step yet",
		"the script begins without its state",
	}},
	{"no-entropy-coding", []string{"a message is sent without entropy coding"}},
	{"checkpoints-not-written", []string{
		"checkpoint not written: the run goes on, and later ones are tried without another warning",
		"checkpoints are written again",
		"the state of worker %d at round %d could not be written",
	}},
	{"damaged-checkpoints", []string{"checkpoint skipped"}},
	{"journals", []string{
		"the journal is full: a neighbour that takes no checkpoints could not come back",
		"the journal is not needed any more, but cannot be removed: remove it by hand",
	}},
	{"full-disks", []string{
		"no room: results stay in memory until there is some; Ctrl-C gives them up",
		"no room: training waits until the disk takes more; Ctrl-C ends the run, and --resume goes on",
		"there is room again: training goes on",
		"no room is set aside for a full disk: it is tried again without another warning",
		"no room is set aside for the final model",
		"training waits for its disk",
		"the record stays in memory until the disk takes it: %v",
		"%s: %s: no room for %s: %s are needed, and %s",
	}},
	{"folders-that-stay", []string{"the run has not begun, and its folder stays: %v"}},
	{"faults-that-did-not-happen", []string{"the fault %s at %s did not happen: %s"}},
	{"clipped-mixing", []string{
		"%s mixes clipped: the mean of the models moves by more than the gradients, above all where the workers' " +
			"data differ",
		"clipped mixing of moniqua without verification: a poisoned message then decodes to some model " +
			"within theta, which clipping tells from honest ones by its distance alone: set algorithm.theta.verify: true",
	}},
	{"theta-too-large", []string{
		"worker %d round %d: %d of %d grid indices differ from the neighbours': theta %.3g is far too large, or the " +
			"models are equal: nothing is exchanged",
		"worker %d round %d: %d of %d grid indices differ from the neighbours', by at most %d of %d levels: theta %.3g " +
			"is far too large: models differ by less than %.2g, mostly noise of the rounding: set " +
			"algorithm.theta.rule: adaptive",
	}},
	{"links-without-encryption", []string{
		"the links are not encrypted: all who are on the way can read and change models, on %s",
		"links are not encrypted",
	}},
	{"unsuited-compressors", []string{"%s with %s: %s"}},
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

var recognizers = recognize(remedies)

func recognize(all []Remedy) []recognizer {
	var known []recognizer
	for _, r := range all {
		for _, warning := range r.Warnings {
			pieces := Pieces(warning)
			for i, piece := range pieces {
				pieces[i] = regexp.QuoteMeta(piece)
			}
			known = append(known, recognizer{r.Anchor, regexp.MustCompile("(?s)^" + strings.Join(pieces, ".*") + "$")})
		}
	}
	return known
}

// See names the section that explains a warning, "" if none does.
func See(warning string) string {
	for _, r := range recognizers {
		if r.pattern.MatchString(warning) {
			return Section(r.anchor)
		}
	}
	return ""
}

// Warning is the line that shows a warning.
func Warning(text string) string {
	line := "warning: " + text
	if section := See(text); section != "" {
		line += "; see " + section
	}
	return line
}

// Pointing returns a handler that adds to every warning and error the section that
// explains it.
func Pointing(h slog.Handler) slog.Handler { return pointing{h} }

type pointing struct{ slog.Handler }

func (p pointing) Handle(ctx context.Context, r slog.Record) error {
	if section := See(r.Message); r.Level >= slog.LevelWarn && section != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("see", section))
	}
	return p.Handler.Handle(ctx, r)
}

func (p pointing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return pointing{p.Handler.WithAttrs(attrs)}
}

func (p pointing) WithGroup(name string) slog.Handler { return pointing{p.Handler.WithGroup(name)} }
