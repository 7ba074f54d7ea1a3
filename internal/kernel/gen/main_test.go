package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/kernel/asm"
)

// written returns the generator's output; the tests only read it.
var written = sync.OnceValues(everything)

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	files, err := written()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", packageName, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./internal/kernel (%v)", name, err)
		}
	}
}

func TestEveryAssemblyFileIsGenerated(t *testing.T) {
	known, err := written()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join("..", packageName, "*"))
	if err != nil || len(found) != len(known) {
		t.Fatalf("%d files, %d are generated, %v", len(found), len(known), err)
	}
	for _, name := range found {
		if known[filepath.Base(name)] == nil {
			t.Errorf("%s is not generated", name)
		}
	}
	stray, err := filepath.Glob(filepath.Join("..", "*.s"))
	if err != nil || len(stray) > 0 {
		t.Errorf("assembly beside its folder: %v, %v", stray, err)
	}
}

// Places agree with those of the compiler.
func TestPlacesAreThoseOfTheCompiler(t *testing.T) {
	types := map[string]reflect.Type{
		"QuantizerWords": reflect.TypeFor[asm.QuantizerWords](),
		"RounderWords":   reflect.TypeFor[asm.RounderWords](),
		"CellWords":      reflect.TypeFor[asm.CellWords](),
		"ChannelsCall":   reflect.TypeFor[asm.ChannelsCall](),
		"ConvolveCall":   reflect.TypeFor[asm.ConvolveCall](),
		"OuterCall":      reflect.TypeFor[asm.OuterCall](),
		"Quad":           reflect.TypeFor[asm.Quad](),
	}
	for _, l := range layouts() {
		of, ok := types[l.name]
		if !ok || of.NumField() != len(l.fields) || int(of.Size()) != l.size() {
			t.Errorf("%s: declared as %v", l.name, of)
			continue
		}
		for i, f := range l.fields {
			if got := of.Field(i); got.Name != f.name || int(got.Offset) != l.at(f.name) {
				t.Errorf("%s.%s: place %d, declared %s at %d", l.name, f.name, l.at(f.name), got.Name, got.Offset)
			}
		}
	}
}

// Comments separate the blocks of a function: each function has one, and none has a stretch of more
// than 100 instructions without any.
func TestTheAssemblyExplainsItself(t *testing.T) {
	files, err := written()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		for _, f := range strings.Split(string(text), "\nTEXT ")[1:] {
			function, body, _ := strings.Cut(f, "\n")
			since := longest
			for line := range strings.Lines(body) {
				switch line = strings.TrimSpace(line); {
				case strings.HasPrefix(line, "//"):
					since = 0
				case strings.HasPrefix(line, "DATA"), strings.HasPrefix(line,
					"GLOBL"), line == "", strings.HasSuffix(line, ":"):
				default:
					since++
				}
				if since > longest {
					t.Errorf("%s: %s: %d instructions without a comment, up to %q", name, function, since, line)
					break
				}
			}
		}
	}
}

// longest is the most instructions that one comment introduces.
const longest = 100
