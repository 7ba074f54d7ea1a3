package configs

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.yaml
var presetFiles embed.FS

// A Preset is a run file inside the binary: a named situation.
type Preset struct {
	Name  string
	About string // the comment in its first line
	Text  []byte
}

// Presets returns the embedded run files by name.
func Presets() []Preset {
	names, err := fs.Glob(presetFiles, "*.yaml")
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
			Name:  strings.TrimSuffix(name, ".yaml"),
			About: strings.TrimPrefix(first, "# "),
			Text:  text,
		})
	}
	return presets
}

// preset returns the preset of that name, and all names.
func preset(name string) (found *Preset, names []string) {
	presets := Presets()
	for _, p := range presets {
		names = append(names, p.Name)
	}
	if i := slices.Index(names, name); i >= 0 {
		found = &presets[i]
	}
	return found, names
}
