package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The Go code of a page stands in a file that the compiler sees, but for blanks.
func TestCodeOfThePagesCompiles(t *testing.T) {
	const page = "docs/go.md"
	var compiled string
	for _, file := range []string{"examples/objective/main.go", "example_test.go"} {
		compiled += unspaced(t, file)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(readPage(t, page), -1)
	if len(blocks) == 0 {
		t.Fatalf("%s has no code", page)
	}
	for _, block := range blocks {
		if !strings.Contains(compiled, strings.Join(strings.Fields(block[1]), " ")) {
			t.Errorf("%s: neither examples/objective/main.go nor example_test.go has the code\n%s", page, block[1])
		}
	}
}

// unspaced returns the text of a file with a single blank between words.
func unspaced(t *testing.T, name string) string {
	t.Helper()
	return strings.Join(strings.Fields(readPage(t, name)), " ")
}

// readPage returns the text of a file below the root of the repository.
func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
