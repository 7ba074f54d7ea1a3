package configs

import (
	"bytes"
	"fmt"
	"math/bits"
	"path/filepath"

	"gossiptrainer/topology"
)

// derive sets the keys that follow from others. A key follows only if it was
// not given, or given by an earlier layer than what it follows from: so a run
// file for Moniqua becomes one for all-reduce by one --set, while a file that
// contradicts itself is an error that the rules find.
func (l *Loaded) derive() {
	t, a := &l.Config.Topology, &l.Config.Algorithm
	if t.Kind == "torus" && l.outranks("topology.size", "topology.kind", "topology.rows", "topology.cols") {
		follow(l, "topology.size", &t.Size, t.Rows*t.Cols)
	}
	if t.Kind == "edges" && l.outranks("topology.size", "topology.kind", "topology.file") {
		follow(l, "topology.size", &t.Size, workers(t.Edges))
	}
	if t.Kind != "torus" && l.outranks("topology.rows", "topology.kind") {
		follow(l, "topology.rows", &t.Rows, 0)
	}
	if t.Kind != "torus" && l.outranks("topology.cols", "topology.kind") {
		follow(l, "topology.cols", &t.Cols, 0)
	}
	if t.Kind != "edges" && l.outranks("topology.file", "topology.kind") {
		follow(l, "topology.file", &t.File, "")
	}
	if !takesCodec(a.Name) && l.outranks("algorithm.codec", "algorithm.name") {
		follow(l, "algorithm.codec", &a.Codec, "full")
	}
	switch {
	case a.Codec == "full":
		follow(l, "algorithm.bits", &a.Bits, 32)
		follow(l, "algorithm.levels", &a.Levels, 0)
	case l.outranks("algorithm.levels", "algorithm.bits"):
		follow(l, "algorithm.levels", &a.Levels, 0)
	case a.Levels > 1 && l.outranks("algorithm.bits", "algorithm.levels"):
		follow(l, "algorithm.bits", &a.Bits, bitsOf(a.Levels))
	}
	if a.Name != "allreduce" && l.outranks("algorithm.reduce", "algorithm.name") {
		follow(l, "algorithm.reduce", &a.Reduce, "ring")
	}
	if a.Reduce == "ring" && l.outranks("algorithm.error_feedback", "algorithm.name", "algorithm.reduce") {
		follow(l, "algorithm.error_feedback", &a.ErrorFeedback, false)
	}
	if c := &a.Compressor; c.Name != "levels" && len(c.Table) > 0 && l.outranks("algorithm.compressor.table", "algorithm.compressor.name") {
		c.Table, l.moved["algorithm.compressor.table"] = []float64{}, true
	}
	if a.Theta.Rule == "adaptive" && l.outranks("algorithm.theta.verify", "algorithm.theta.rule") {
		follow(l, "algorithm.theta.verify", &a.Theta.Verify, true)
	}
	if a.Theta.Rule != "fixed" && l.outranks("algorithm.theta.value", "algorithm.theta.rule") {
		follow(l, "algorithm.theta.value", &a.Theta.Value, 0)
	}
}

// outranks says whether one of the keys by was given by a later layer than key.
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

// bitsOf returns the bits that a symbol of so many levels needs.
func bitsOf(levels int) int { return bits.Len(uint(levels - 1)) }

func workers(edges [][2]topology.Rank) int {
	n := 0
	for _, e := range edges {
		n = max(n, int(e[0])+1, int(e[1])+1)
	}
	return n
}

// readEdges reads the file of edges. Its name in a run file is relative to
// that file; the configuration holds it in absolute form.
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
