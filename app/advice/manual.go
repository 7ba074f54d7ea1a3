package advice

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gossiptrainer/internal/regular"
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
	if regular.Check(filepath.Join(installed, manual)) != nil {
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

// Fixes returns the sections that explain warnings.
func Fixes() []Fix { return slices.Clone(fixes) }

var fixes = []Fix{
	{"values-that-become-equal", []string{
		"%s: column %s: %d distinct values%s are only %d in 32 bits: data.standardise: true keeps them apart, or " +
			"subtract an offset in the file",
	}},
	{"labels-that-look-missing", []string{
		"%s: the label %q of %s is a class: if it stands for missing labels, set data.missing: [%q]",
	}},
	{"classes-of-one-split", []string{
		"%s: classes whose names differ only in case, blanks or a point at the end: %s: if they are one class, write " +
			"them alike",
		"%s: no row to train on has a class of these test rows: %s: they count as wrong",
		"%s: no worker has rows of these classes, but test rows are of them: %s: %d workers with data.per_worker: %d " +
			"leave them out",
	}},
	{"data-with-row-numbers", []string{
		"%s: column %s %s, and the model learns from it: if it is no feature, leave it out with data.skip: [%s]",
	}},
	{"no-mdns", []string{"no mDNS: only peers with an address in the run file are found"}},
	{"addresses-of-this-machine", []string{
		"the roster gives this machine %v, which no interface here has: it listens on that port of all interfaces, to " +
			"which a router must forward it",
		"the roster gives this machine %v, and node.listen has another port: the others reach it only where a router " +
			"forwards that one",
		"%s, and QUIC needs %d: no connection opens there",
	}},
	{"refused-peers", []string{
		"refused a peer", "link refused", "peer refused", "a peer has not proven that it belongs to this run",
	}},
	{"copied-keys", []string{"another machine shows the identity of this peer"}},
	{"refused-connections", []string{
		"refused a connection: too many from its address",
		"refused a stranger silently",
		"refused letters in the name of another member",
		"refused a malformed letter",
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
		"a neighbour gave a state with which this worker cannot begin",
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
		"these workers make the same updates: they train on the same batches",
		"the script waits in a call for other workers, which train on, or have not come to it",
		"the script begins without its state",
		"the state of the script after its last round is not kept",
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
			"within theta, which clipping tells from honest ones only by its distance: set algorithm.theta.verify: true",
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
	{"levels-that-never-adapt", []string{
		"the levels of %s are never fitted: set algorithm.compressor.refit_at to early rounds, such as [%d]",
		"the levels of %s are never fitted: the first fit is in round %d, and the run has %d rounds: set " +
			"algorithm.compressor.refit_at to early rounds, such as [%d]",
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

var recognizers = recognize(fixes)

func recognize(all []Fix) []recognizer {
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

// see names the section that explains a warning, "" if none does.
func see(warning string) string {
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
