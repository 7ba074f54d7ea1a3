package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"gossiptrainer/internal/registry"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// Package registry lists the algorithms and compressors, packages model and topology the models and graphs. The schema
// takes the values of a key and the words in angle brackets of a description from there.

// row returns the row of the algorithm, one that allows nothing if there is none.
func (c *Config) row() registry.Algorithm {
	row, _ := registry.Find(c.Algorithm.Name, c.Algorithm.Reduce)
	return row
}

// compressor returns the row of the compressor.
func (c *Config) compressor() registry.Compressor {
	row, _ := registry.FindCompressor(c.Algorithm.Compressor.Name)
	return row
}

// LearnsFromData reports whether the objective has samples.
func (c *Config) LearnsFromData() bool {
	kind, _ := model.Find(c.Model.Name)
	return kind.Samples
}

// External reports whether a program of the user computes the updates.
func (c *Config) External() bool {
	kind, _ := model.Find(c.Model.Name)
	return kind.External
}

// listed returns the values of the keys that rows list, nil of any other key.
func listed(key string) []string {
	switch key {
	case "topology.kind":
		return kindsWith("")
	case "algorithm.name":
		return registry.Names(nil)
	case "algorithm.codec":
		return codecs()
	case "algorithm.reduce":
		return registry.Forms()
	case "algorithm.compressor.name":
		return registry.CompressorNames("")
	case "model.name":
		return model.Names("")
	}
	return nil
}

// kindsWith returns the kinds of graphs that take a setting; all for "".
func kindsWith(setting string) []string {
	var names []string
	for _, kind := range topology.Kinds() {
		if setting == "" || kind.Takes(setting) {
			names = append(names, string(kind))
		}
	}
	return names
}

// codecs returns those that some algorithm takes.
func codecs() []string {
	var all []string
	for _, a := range registry.Algorithms() {
		for _, codec := range a.Sends.Codecs {
			if !slices.Contains(all, codec) {
				all = append(all, codec)
			}
		}
	}
	return all
}

// complete adds what rows say to the schema of a key.
func complete(s *jsonschema.Schema, key string) {
	for _, value := range listed(key) {
		s.Enum = append(s.Enum, value)
	}
	for {
		before, rest, found := strings.Cut(s.Description, "<")
		word, after, closed := strings.Cut(rest, ">")
		if !found || !closed {
			return
		}
		s.Description = before + words(word) + after
	}
}

// words returns what a word in angle brackets stands for.
func words(word string) string {
	if setting, ok := strings.CutPrefix(word, "takes "); ok {
		return strings.Join(registry.CompressorNames(setting), ", ")
	}
	if setting, ok := strings.CutPrefix(word, "model "); ok {
		return strings.Join(model.Names(setting), ", ")
	}
	if setting, ok := strings.CutPrefix(word, "kinds "); ok {
		return strings.Join(kindsWith(setting), ", ")
	}
	if setting, ok := strings.CutPrefix(word, "lacks "); ok {
		all := registry.CompressorNames("")
		return each(slices.DeleteFunc(all, func(name string) bool {
			return slices.Contains(registry.CompressorNames(setting), name)
		}))
	}
	switch word {
	case "by codec":
		return each(registry.Names(registry.Algorithm.ByCodec))
	case "by compressor":
		return each(rowsWith(registry.Algorithm.Compresses))
	case "feedback":
		return each(rowsWith(feedsBack))
	case "several forms":
		return each(registry.Names(hasForms))
	case "order":
		return each(registry.Names(ordered))
	case "gamma":
		return each(registry.Names(hasGamma))
	case "own momentum":
		return each(registry.Names(hasMomentum))
	case "two messages":
		return each(registry.Names(hasLanes))
	case "eta":
		return each(registry.Names(hasEta))
	case "clip":
		return each(registry.Names(clips))
	case "one step":
		return each(registry.Names(func(a registry.Algorithm) bool { return !a.Takes.LocalSteps.Given }))
	case "reweight":
		return each(registry.Names(reweights))
	case "asynchronous":
		return each(registry.Names(registry.Algorithm.Asynchronous))
	case "levels without bits":
		return each(slices.DeleteFunc(registry.CompressorNames("levels"), func(name string) bool {
			return slices.Contains(registry.CompressorNames("bits"), name)
		}))
	case "ranges of bits":
		return ranges()
	}
	panic("internal error: configs: a description with <" + word + ">")
}

// The following functions report whether a setting applies to a row.

func hasForms(a registry.Algorithm) bool    { return a.Form != "" }
func ordered(a registry.Algorithm) bool     { return a.Takes.Order }
func hasGamma(a registry.Algorithm) bool    { return a.Gamma != nil }
func hasMomentum(a registry.Algorithm) bool { return a.Takes.Momentum }
func hasLanes(a registry.Algorithm) bool    { return len(a.Lanes()) > 1 }
func hasEta(a registry.Algorithm) bool      { return a.Takes.Eta }
func clips(a registry.Algorithm) bool       { return a.Takes.Clip }
func reweights(a registry.Algorithm) bool   { return a.Takes.Reweight.Given }
func feedsBack(a registry.Algorithm) bool   { return a.Sends.Feedback != registry.NoCompressor }

// rowsWith names the rows of which fits is true, also those that are forms of a name.
func rowsWith(fits func(registry.Algorithm) bool) []string {
	var all []string
	for _, a := range registry.Algorithms() {
		if fits(a) {
			all = append(all, a.String())
		}
	}
	return all
}

// ranges lists the bits of compressors for people: the range of the first one, then those of the others that differ.
func ranges() string {
	usual, text := registry.Range{}, ""
	for _, c := range registry.Compressors() {
		switch {
		case !c.Has("bits"):
		case text == "":
			usual, text = c.Bits, fmt.Sprintf("%d to %d", c.Bits.Least, c.Bits.Most)
		case c.Bits != usual:
			text += fmt.Sprintf(", for %s %d to %d", c.Name, c.Bits.Least, c.Bits.Most)
		}
	}
	return text
}
