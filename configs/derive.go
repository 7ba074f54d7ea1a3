package configs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"

	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/topology"
)

// A key is derived from others only if no layer gives it, or an earlier layer than the others. The rules find a file
// that contradicts itself.

// deriveSize sets the number of workers for graphs whose other keys determine it.
func (l *Loaded) deriveSize() {
	t := &l.Config.Topology
	var from []string
	for _, setting := range []string{"rows", "cols", "file"} {
		if t.takes(setting) {
			from = append(from, "topology."+setting)
		}
	}
	if len(from) > 0 && l.outranks("topology.size", append(from, "topology.kind")...) {
		follow(l, "topology.size", &t.Size, t.Spec().Given())
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
	deriveLevels(l)
	if l.Config.External() && !l.Config.Reweights() && !l.Config.Views() && l.level("train.rounds") == 0 {
		follow(l, "train.rounds", &l.Config.Train.Rounds, ByScript)
	}
	if a.Theta.Rule == "adaptive" && l.outranks("algorithm.theta.verify", "algorithm.theta.rule") {
		follow(l, "algorithm.theta.verify", &a.Theta.Verify, true)
	}
}

// deriveLevels sets bits or levels of a compressor that takes either, and the levels of one that takes no bits.
func deriveLevels(l *Loaded) {
	const bits, levels = "algorithm.compressor.bits", "algorithm.compressor.levels"
	c := &l.Config.Algorithm.Compressor
	switch row := l.Config.compressor(); {
	case !row.Has("levels"):
	case !row.Has("bits"):
		if c.Levels == 0 {
			follow(l, levels, &c.Levels, registry.UsualLevels)
		}
	case l.outranks(levels, bits):
		follow(l, levels, &c.Levels, 0)
	case c.Levels > 1 && l.outranks(bits, levels):
		follow(l, bits, &c.Bits, bitsOf(c.Levels))
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

// readFiles reads the files on whose content peers must agree. It returns the errors by key.
func (l *Loaded) readFiles() map[string]error {
	failed := map[string]error{}
	for key, read := range map[string]func() error{"topology.file": l.readEdges, "train.from": l.hashStart} {
		if err := read(); err != nil {
			failed[key] = err
		}
	}
	return failed
}

// locate makes the name of a file absolute. It is relative to the run file that has the key.
func (l *Loaded) locate(key string, name *string) error {
	if from := l.layers[l.level(key)]; from.file != nil && !filepath.IsAbs(*name) {
		*name = filepath.Join(from.dir, *name)
	}
	path, err := filepath.Abs(*name)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	*name = path
	return nil
}

// hashStart computes the hash of the model from which workers start. Package experiment reads its numbers.
func (l *Loaded) hashStart() error {
	t := &l.Config.Train
	if t.From == "" || !startsFromFile.holds(&l.Config, "") {
		return nil
	}
	if err := l.locate("train.from", &t.From); err != nil {
		return err
	}
	var err error
	if t.From, err = checkpoint.StateFile(t.From); err != nil {
		return err
	}
	file, err := safefile.Open(t.From)
	if err != nil {
		return fmt.Errorf("%s %s", t.From, reason(err))
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("%s %s", t.From, reason(err))
	}
	t.FromHash = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// readEdges reads the file of edges.
func (l *Loaded) readEdges() error {
	t := &l.Config.Topology
	if !t.takes("file") || t.File == "" {
		return nil
	}
	if err := l.locate("topology.file", &t.File); err != nil {
		return err
	}
	path := t.File
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
