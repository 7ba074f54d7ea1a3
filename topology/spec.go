package topology

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxWorkers is the largest graph that can be built. A graph of all pairs has at most maxComplete workers, because it
// has about n²/2 of them.
const (
	MaxWorkers  = 1 << 20
	maxComplete = 1 << 12
	maxMatching = 1 << 12 // its reach is found by bit sets of n² bits
)

// ParseSpec reads the short form of a graph without slack: kind:size, as in
// ring:8, or torus:rowsxcols, as in torus:4x4.
func ParseSpec(text string) (Spec, error) {
	name, size, _ := strings.Cut(text, ":")
	s := Spec{Kind: Kind(name), Slack: 1}
	if err := s.Kind.unknown(); err != nil {
		return Spec{}, fmt.Errorf("topology: %q: %w", text, err)
	}
	switch {
	case s.Kind.Takes("file"):
		return Spec{}, fmt.Errorf("topology: %q: an edge list has no short form", text)
	case s.Kind.Takes("rows"):
		rows, cols, _ := strings.Cut(size, "x")
		var okRows, okCols bool
		s.Rows, okRows = parseSize(rows)
		s.Cols, okCols = parseSize(cols)
		if !okRows || !okCols {
			return Spec{}, fmt.Errorf("topology: %q: want its sides, as in torus:4x4", text)
		}
	default:
		var ok bool
		if s.N, ok = parseSize(size); !ok {
			return Spec{}, fmt.Errorf("topology: %q: want the number of workers, as in %s:8", text, name)
		}
	}
	s.N = s.Size()
	if err := s.check(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// parseSize accepts digits only.
func parseSize(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// String returns the short form, without slack.
func (s Spec) String() string {
	if s.Kind.Takes("rows") {
		return fmt.Sprintf("%s:%dx%d", s.Kind, s.Rows, s.Cols)
	}
	return fmt.Sprintf("%s:%d", s.Kind, s.Size())
}

// Given returns the number of workers that the settings beside N give, 0 if they give none.
func (s Spec) Given() int {
	if size := s.Kind.row().size; size != nil {
		return size(s)
	}
	return 0
}

// Size returns the number of workers.
func (s Spec) Size() int { return cmp.Or(s.N, s.Given()) }

// Check returns the first setting for which there is no graph, and the reason. It returns "" if all settings are valid,
// as far as this shows without building the graph. The slack and the exchanges do not count.
func (s Spec) Check() (setting, why string) {
	f := s.Kind.row()
	s.N = s.Size()
	if err := s.Kind.unknown(); err != nil {
		return "kind", err.Error()
	}
	if f.check != nil {
		setting, why = f.check(s)
	}
	most := cmp.Or(f.most, MaxWorkers)
	switch {
	case setting != "":
		return setting, why
	case s.N < 1:
		return "size", fmt.Sprintf("%s: size %d: must be at least 1", s.Kind, s.N)
	case s.N > most:
		return "size", fmt.Sprintf("%s: size %d: at most %d workers", s.Kind, s.N, most)
	case !(s.Chance >= 0 && s.Chance <= 1):
		return "chance", fmt.Sprintf("%s: chance %v: not in [0, 1]", s.Kind, s.Chance)
	}
	return "", ""
}

// check returns the first error in s that shows without building the graph.
func (s Spec) check() error {
	setting, why := s.Check()
	switch {
	case setting == "kind":
	case !(s.Slack > 0 && s.Slack <= 1):
		why = fmt.Sprintf("slack %v: not in (0, 1]", s.Slack)
	case setting == "" && s.Exchanges < 0:
		why = fmt.Sprintf("%s: %d exchanges: must be at least 0", s.Kind, s.Exchanges)
	}
	if why != "" {
		return errors.New("topology: " + why)
	}
	return nil
}

// exchanges returns the number of exchanges that sums of an Endless kind cover.
func (s Spec) exchanges() int { return cmp.Or(s.Exchanges, DefaultExchanges) }
