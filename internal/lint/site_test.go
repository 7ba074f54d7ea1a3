package lint

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// overview is the page whose tables are the navigation of the documentation site.
const overview = "docs/README.md"

// unlisted returns the pages of docs to which the tables of the overview do not lead. A row for the README.md of a
// folder leads to all pages below it.
func unlisted(pages []string, text string) []string {
	listed := map[string]bool{overview: true}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| [") {
			continue
		}
		for _, hit := range link.FindAllStringSubmatch(line, -1) {
			listed[path.Join("docs", hit[1])] = true
		}
	}
	return slices.DeleteFunc(pages, func(page string) bool {
		for folder := path.Dir(page); folder != "docs" && folder != "."; folder = path.Dir(folder) {
			if listed[folder+"/README.md"] {
				return true
			}
		}
		return listed[page]
	})
}

func TestEveryPageIsListed(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	pages := slices.DeleteFunc(slices.Sorted(maps.Keys(all.texts)), func(name string) bool {
		return !strings.HasPrefix(name, "docs/") || path.Ext(name) != ".md"
	})
	for _, page := range unlisted(pages, string(all.texts[overview])) {
		t.Errorf("%s: no table of %s leads to it, so that the site has no place for it: add a row", page, overview)
	}
}

func TestUnlistedPagesAreFound(t *testing.T) {
	text := "[F](go.md)\n| [L](lan.md) | a user |\n| [R](results/README.md) | all |\n"
	pages := []string{
		"docs/README.md", "docs/go.md", "docs/lan.md", "docs/papers/d2.md", "docs/results/claims/d2-minutes.md",
	}
	if got, want := unlisted(pages, text), []string{"docs/go.md", "docs/papers/d2.md"}; !slices.Equal(got, want) {
		t.Errorf("unlisted %q, want %q", got, want)
	}
}
