package configs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed *.yaml comparisons/*.yaml
var presetFiles embed.FS

// A Preset is a run file inside the binary: a named situation.
type Preset struct {
	Name  string
	About string // the comment in its first line
	Text  []byte
}

// Each run file that is loaded looks for its name among these.
var (
	runFiles        = sync.OnceValue(func() []Preset { return presetsIn("*.yaml") })
	comparisonFiles = sync.OnceValue(func() []Preset { return presetsIn("comparisons/*.yaml") })
)

// Presets returns the embedded run files by name.
func Presets() []Preset { return slices.Clone(runFiles()) }

// Comparisons returns the embedded comparison files by name.
func Comparisons() []Preset { return slices.Clone(comparisonFiles()) }

func presetsIn(pattern string) []Preset {
	names, err := fs.Glob(presetFiles, pattern)
	if err != nil {
		panic("internal error: configs: " + err.Error())
	}
	var presets []Preset
	for _, name := range names {
		text, err := presetFiles.ReadFile(name)
		if err != nil {
			panic("internal error: configs: " + err.Error())
		}
		first, _, _ := strings.Cut(string(text), "\n")
		presets = append(presets, Preset{
			Name:  strings.TrimSuffix(path.Base(name), ".yaml"),
			About: strings.TrimPrefix(first, "# "),
			Text:  text,
		})
	}
	return presets
}

// preset returns the one of that name, and all names.
func preset(name string, presets []Preset) (found *Preset, names []string) {
	for _, p := range presets {
		names = append(names, p.Name)
	}
	if i := slices.Index(names, name); i >= 0 {
		found = &presets[i]
	}
	return found, names
}
