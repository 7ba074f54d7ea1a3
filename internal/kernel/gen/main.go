// Command gen writes package asm, the assembly of package kernel, with avo. Each topic gives three
// files: the assembly, its declarations, and functions of the same names that panic, for builds
// without assembly. So the code that chooses the tier is the same for all builds. One more file has
// the structs and the numbers that Go and assembly share, see layout.
//
// Topics use the operations of type width, one size of vector registers. Each block of a function
// begins with a comment, which appears in the assembly.
//
// Run it with go generate ./internal/kernel. A test compares the files with its
// output.
package main

import (
	"fmt"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/buildtags"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// A topic is the kernels of one file.
type topic struct {
	name  string
	write func(c *build.Context)
}

func topics() []topic {
	return []topic{
		{"axpy", axpy},
		{"quantize", quantize},
		{"pack", pack},
		{"mix", mix},
		{"mixbits", mixBits},
		{"indices", indices},
		{"hash", hash},
		{"magnitude", magnitude},
		{"channels", channels},
		{"convolve", convolve},
		{"momentum", momentum},
		{"outer", outer},
		{"panel", panel},
		{"peak", peak},
		{"pool", pool},
		{"floats", floats},
		{"cells", cells},
		{"round", round},
		{"points", points},
		{"extremes", extremes},
		{"signs", signs},
		{"sums", sums},
		{"subtract", subtract},
		{"quadratic", quadratic},
		{"stacked", stacked},
	}
}

func main() {
	if err := generate(filepath.Join("..", packageName)); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes all files to folder.
func generate(folder string) error {
	files, err := everything()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// everything returns the text of all files by name.
func everything() (map[string][]byte, error) {
	shared, err := declarations()
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{"asm.go": shared}
	for _, t := range topics() {
		files, err := t.files()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		maps.Copy(all, files)
	}
	return all, nil
}

// files returns the text of the topic's files by name.
func (t topic) files() (map[string][]byte, error) {
	c := build.NewContext()
	c.Constraint(buildtags.Not("purego"))
	t.write(c)
	file, err := c.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, err
	}
	config := printer.Config{Name: "gen", Argv: []string{"gen"}, Pkg: packageName}
	code, err := printer.NewGoAsm(config).Print(file)
	if err != nil {
		return nil, err
	}
	stubs, err := printer.NewStubs(config).Print(file)
	if err != nil {
		return nil, err
	}
	without, err := unavailable(file)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{t.name + "_amd64.s": code, t.name + "_amd64.go": stubs, t.name + "_other.go": without}, nil
}

// unavailable returns the functions of file for builds without assembly.
func unavailable(file *ir.File) ([]byte, error) {
	text := "// " + warning + "\n\n//go:build !amd64 || purego\n\npackage " + packageName + "\n"
	for _, f := range file.Functions() {
		doc := strings.ReplaceAll(strings.Join(f.Doc, " "), "\n", " ")
		text += "\n// " + doc + "\n" + f.Stub() + " { panic(\"asm: no assembly in this build\") }\n"
	}
	return format.Source([]byte(text))
}
