package configs

import (
	"bytes"
	"fmt"
	"math/bits"
	"path/filepath"

	"gossiptrainer/topology"
)

// A key is derived from others only if no layer gives it, or an earlier layer than the others. The rules find a file
// that contradicts itself.

// deriveSize sets the number of workers for graphs whose other keys determine it.
func (l *Loaded) deriveSize() {
	t := &l.Config.Topology
	if t.Kind == "torus" && l.outranks("topology.size", "topology.kind", "topology.rows", "topology.cols") {
		follow(l, "topology.size", &t.Size, t.Rows*t.Cols)
	}
	if t.Kind == "edges" && l.outranks("topology.size", "topology.kind", "topology.file") {
		follow(l, "topology.size", &t.Size, workers(t.Edges))
	}
}

// derive sets the other derived keys.
func (l *Loaded) derive() {
	a := &l.Config.Algorithm
	switch {
	case l.outranks("algorithm.levels", "algorithm.bits"):
		follow(l, "algorithm.levels", &a.Levels, 0)
	case a.Levels > 1 && l.outranks("algorithm.bits", "algorithm.levels"):
		follow(l, "algorithm.bits", &a.Bits, bitsOf(a.Levels))
	}
	if a.Theta.Rule == "adaptive" && l.outranks("algorithm.theta.verify", "algorithm.theta.rule") {
		follow(l, "algorithm.theta.verify", &a.Theta.Verify, true)
	}
}

// outranks reports whether a later layer than that of key gave one of the keys by.
func (l *Loaded) outranks(key string, by ...string) bool {
	for _, b := range by {
		if l.level(b) > l.level(key) {
			return true
		}
	}
	return false
}

func follow[T comparable](l *Loaded, key string, field *T, value T) {
	if *field != value {
		*field = value
		l.moved[key] = true
	}
}

// bitsOf returns the bits of a symbol with that many levels, ≥ 2.
func bitsOf(levels int) int { return bits.Len(uint(levels - 1)) }

func workers(edges [][2]topology.Rank) int {
	n := 0
	for _, e := range edges {
		n = max(n, int(e[0])+1, int(e[1])+1)
	}
	return n
}

// readEdges reads the file of edges. Its name is relative to the run file. The configuration has the absolute name.
func (l *Loaded) readEdges() error {
	t := &l.Config.Topology
	if t.Kind != "edges" || t.File == "" {
		return nil
	}
	if from := l.layers[l.level("topology.file")]; from.file != nil && !filepath.IsAbs(t.File) {
		t.File = filepath.Join(from.dir, t.File)
	}
	path, err := filepath.Abs(t.File)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	t.File = path
	text, err := readBounded(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s", path, reason(err))
	case len(text) > maxFile:
		return fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	t.Edges, err = topology.ReadEdges(bytes.NewReader(text))
	return err
}
