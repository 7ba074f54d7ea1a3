package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platforms are the tags of wheels, by the end of a program's name. The programs on Linux are static.
var platforms = map[string]string{
	"linux-amd64":       "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux-arm64":       "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"linux-riscv64":     "manylinux_2_31_riscv64",
	"darwin-amd64":      "macosx_12_0_x86_64",
	"darwin-arm64":      "macosx_12_0_arm64",
	"windows-amd64.exe": "win_amd64",
}

// A wheel is a Python package in the making, which pip installs. It holds the module and the program, so that one
// installation gives both in one version.
type wheel struct {
	zip    *zip.Writer
	time   time.Time
	record bytes.Buffer
}

// writeWheels writes a wheel for each program of a folder. The module lies in the folder python of the checkout.
func writeWheels(folder string, programs []string) error {
	version, err := moduleVersion(filepath.Join("python", "gossiptrainer", "_version.py"))
	if err != nil {
		return err
	}
	for _, program := range programs {
		target := strings.TrimPrefix(filepath.Base(program), "peer-")
		platform, known := platforms[target]
		if !known {
			return fmt.Errorf("%s: no tag of wheels is known for %s: add it to platforms", program, target)
		}
		content, err := wheelOf(program, version, platform)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("gossiptrainer-%s-py3-none-%s.whl", version, platform)
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleVersion reads the version of the module.
func moduleVersion(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), `__version__ = "`)
	version, _, found := strings.Cut(rest, `"`)
	if !found {
		return "", fmt.Errorf("%s: no __version__", path)
	}
	return version, nil
}

// wheelOf returns the wheel of a program.
func wheelOf(program, version, platform string) ([]byte, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w: call release/build.sh", err)
	}
	var out bytes.Buffer
	w := wheel{zip: zip.NewWriter(&out), time: time.Unix(seconds, 0).UTC()}
	module := os.DirFS("python")
	err = fs.WalkDir(module, "gossiptrainer", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".py") && entry.Name() != "py.typed" {
			return err
		}
		content, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		return w.add(name, 0o644, content)
	})
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	base, info := "gossiptrainer-"+version, "gossiptrainer-"+version+".dist-info/"
	for _, file := range []struct {
		name    string
		mode    fs.FileMode
		content []byte
	}{
		{base + ".data/scripts/peer" + filepath.Ext(program), 0o755, binary},
		{info + "licenses/LICENSE", 0o644, licence},
		{info + "METADATA", 0o644, metadata(version)},
		{info + "WHEEL", 0o644, tags(platform)},
	} {
		if err := w.add(file.name, file.mode, file.content); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(&w.record, "%sRECORD,,\n", info)
	if err := w.store(info+"RECORD", 0o644, w.record.Bytes()); err != nil {
		return nil, err
	}
	err = w.zip.Close() // writes the directory
	return out.Bytes(), err
}

// metadata returns what pip shows of the package.
func metadata(version string) []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: gossiptrainer
Version: %s
Summary: Decentralized training by gossip: the command peer, and the module that takes a training loop along
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
`, version)
}

// tags returns what says for which systems the wheel is.
func tags(platform string) []byte {
	b := []byte("Wheel-Version: 1.0\nGenerator: gossiptrainer release\nRoot-Is-Purelib: false\n")
	for tag := range strings.SplitSeq(platform, ".") {
		b = fmt.Appendf(b, "Tag: py3-none-%s\n", tag)
	}
	return b
}

// add stores a file and records its hash.
func (w *wheel) add(name string, mode fs.FileMode, content []byte) error {
	sum := sha256.Sum256(content)
	fmt.Fprintf(&w.record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	return w.store(name, mode, content)
}

func (w *wheel) store(name string, mode fs.FileMode, content []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.time}
	h.SetMode(mode)
	file, err := w.zip.CreateHeader(h)
	if err == nil {
		_, err = file.Write(content)
	}
	return err
}
