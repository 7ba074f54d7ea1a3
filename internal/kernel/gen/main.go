// Command gen writes the assembly of package kernel, with avo. Each topic gives
// three files beside the package: the assembly, its declarations, and functions
// of the same names that panic, for builds without assembly; so the choice of
// tier is written once for all builds.
//
// Run it with go generate in the package's folder. A test compares the files
// with what it would write.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
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
	}
}

func main() {
	if err := generate("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes all files to folder.
func generate(folder string) error {
	for _, t := range topics() {
		files, err := t.files()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
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
	config := printer.Config{Name: "gen", Argv: []string{"gen"}, Pkg: "kernel"}
	code, err := printer.NewGoAsm(config).Print(file)
	if err != nil {
		return nil, err
	}
	stubs, err := printer.NewStubs(config).Print(file)
	if err != nil {
		return nil, err
	}
	without, err := unavailable(config, file)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{t.name + "_amd64.s": code, t.name + "_amd64.go": stubs, t.name + "_other.go": without}, nil
}

// unavailable returns the functions of file for builds without assembly.
func unavailable(config printer.Config, file *ir.File) ([]byte, error) {
	text := "// " + config.GeneratedWarning() + "\n\n//go:build !amd64 || purego\n\npackage " + config.Pkg + "\n"
	for _, f := range file.Functions() {
		text += "\n" + f.Stub() + " { panic(\"kernel: no assembly in this build\") }\n"
	}
	return format.Source([]byte(text))
}

// function begins a leaf function that leaves its slices to the caller.
func function(c *build.Context, name, signature, doc string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr(signature)
	c.Pragma("noescape")
	c.Doc(name + " " + doc)
}
