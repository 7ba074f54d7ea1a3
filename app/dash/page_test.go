package dash

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// built are the files that make the page, beside all of web/src, and the page itself (web/build.mjs).
var built = []string{
	"app/dash/page/app.css", "app/dash/page/app.js", "app/dash/page/icon.svg",
	"app/dash/page/index.html", "web/build.mjs", "web/package-lock.json", "web/package.json",
}

// The build records a hash of every source and output. A page that is older than its sources, or edited by hand, is
// found here without npm.
func TestPageIsBuiltFromItsSources(t *testing.T) {
	root := filepath.Join("..", "..")
	recorded := readSums(t, filepath.Join("page", "sums.txt"))
	for _, name := range append(sources(t, root), built...) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		switch sum, known := recorded[name]; {
		case !known:
			t.Errorf("%s is not in page/sums.txt: build the page again: npm ci && npm run build in web", name)
		case sum != fmt.Sprintf("%x", sha256.Sum256(text)):
			t.Errorf("%s is not as it was in the last build: build the page again: npm ci && npm run build in web", name)
		}
		delete(recorded, name)
	}
	for name := range recorded {
		t.Errorf("page/sums.txt names %s, which is gone: build the page again: npm ci && npm run build in web", name)
	}
}

// The page ships uPlot, whose licence wants its text in every copy.
func TestPageHasTheLicenceOfItsParts(t *testing.T) {
	for _, name := range []string{"app.js", "app.css"} {
		text, err := os.ReadFile(filepath.Join("page", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Copyright (c) 2022 Leon Sorokin",
			"The above copyright notice and this permission notice"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q of the licence of uPlot", name, want)
			}
		}
	}
}

// The policy of the server forbids scripts and styles within the markup, and the page asks no other host.
func TestPageKeepsItsPolicy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("page", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{" style=", "<style", "onclick=", "onload=", "http://", "https://", "//"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("index.html has %q, which the content security policy forbids", bad)
		}
	}
	if strings.Count(string(text), "<script") != strings.Count(string(text), `<script type="module" src="app.js">`) {
		t.Error("index.html has a script of its own, which the content security policy forbids")
	}
}

// readSums reads lines of a hash, two spaces and a path from the root of the repository.
func readSums(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		if !found {
			t.Fatalf("%s: %q is not a hash and a path", path, line)
		}
		sums[name] = sum
	}
	return sums
}

// sources lists the files of web/src.
func sources(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(root, "web", "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		found = append(found, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
