// Command release completes a release folder. It reads the programs there and writes sbom.cdx.json, a
// bill of materials, LICENSES.txt, the licences of all their modules, and the wheels for pip.
//
// It opens no network and builds nothing; release/build.sh calls it.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./release FOLDER")
		os.Exit(2)
	}
	if err := complete(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func complete(folder string) error {
	programs, err := filepath.Glob(filepath.Join(folder, "peer-*"))
	if err != nil || len(programs) == 0 {
		return errors.Join(err, fmt.Errorf("%s: no program: build one first", folder))
	}
	main, modules, err := contents(programs)
	if err != nil {
		return err
	}
	texts, err := licences(modules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "LICENSES.txt"), texts, 0o644); err != nil {
		return err
	}
	if err := writeWheels(folder, programs); err != nil {
		return err
	}
	bill, err := billOfMaterials(main, modules)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "sbom.cdx.json"), bill, 0o644)
}

// contents returns the main module of programs and all modules that they contain, by path.
func contents(programs []string) (main debug.Module, modules []*debug.Module, err error) {
	all := map[string]*debug.Module{}
	for _, name := range programs {
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return main, nil, fmt.Errorf("%s: %w", name, err)
		}
		main = info.Main
		for _, m := range info.Deps {
			all[m.Path] = m
		}
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		modules = append(modules, all[path])
	}
	return main, modules, nil
}

// A component is an entry of a CycloneDX 1.5 document.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	// Properties hold the sums of the go command, which are no plain hashes of a file.
	Properties []sum `json:"properties,omitempty"`
}

type sum struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func billOfMaterials(main debug.Module, modules []*debug.Module) ([]byte, error) {
	parts := []component{{Type: "library", Name: "std", Version: strings.TrimPrefix(runtime.Version(), "go"),
		PURL: "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go")}}
	for _, m := range modules {
		parts = append(parts, component{
			Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
			Properties: []sum{{"go:sum", m.Sum}},
		})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": component{Type: "application", Name: main.Path, Version: main.Version}},
		"components": parts,
	}, "", "  ")
	return append(text, '\n'), err
}

// licenceFile matches the names of files that hold a licence or belong to one.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|ofl)([-_.].*)?$`)

// licences returns the texts of all licences, that of this program first. A module without any
// is an error: it must not be passed on.
func licences(modules []*debug.Module) ([]byte, error) {
	var all bytes.Buffer
	if err := appendLicences(&all, "gossiptrainer", "."); err != nil {
		return nil, err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	if err := appendLicences(&all, "the Go standard library", strings.TrimSpace(string(root))); err != nil {
		return nil, err
	}
	for _, m := range modules {
		folder, err := moduleFolder(m)
		if err != nil {
			return nil, err
		}
		if err := appendLicences(&all, m.Path+" "+m.Version, folder); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

func moduleFolder(m *debug.Module) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Path, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("%s: %w", m.Path, err)
	}
	return found.Dir, nil
}

func appendLicences(all *bytes.Buffer, name, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "==== %s: %s\n\n%s\n\n", name, f.Name(), bytes.TrimSpace(text))
		found = true
	}
	if !found {
		return fmt.Errorf("%s: no licence in %s", name, folder)
	}
	return nil
}
