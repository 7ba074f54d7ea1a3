package lint

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// own is this file, which has to name what it forbids.
const own = "internal/lint/text_test.go"

// A ban is what no text file holds. Seek, in lower case, is looked for first,
// for it is fast.
type ban struct {
	seek    []string
	pattern *regexp.Regexp
	reason  string
}

var bans = []ban{
	{
		[]string{"/work/", "/root/", "/tmp/", "/home/"},
		regexp.MustCompile(`(^|[^\w./])/(work|root|tmp|home)/\w`),
		"a path of one machine means nothing on another: make it relative or an argument",
	},
	{
		[]string{"proxy.golang.org", "sum.golang.org", "goproxy", "artifactory", "registry.npmjs.org", "pypi.org"},
		regexp.MustCompile(`(?i)(proxy|sum)\.golang\.org|goproxy|artifactory|registry\.npmjs\.org|pypi\.org`),
		"where modules come from is the affair of each machine, not of the repository",
	},
	{
		[]string{"todo", "fixme"},
		regexp.MustCompile(`\b(TODO|FIXME)\b`),
		"a note to oneself is not for the reader: do it now or open an issue",
	},
}

// banned finds what should not stand in any text.
func banned(name string, text []byte) []string {
	lower := bytes.ToLower(text)
	var found []string
	for _, b := range bans {
		if !slices.ContainsFunc(b.seek, func(s string) bool { return bytes.Contains(lower, []byte(s)) }) {
			continue
		}
		for number, line := range strings.Split(string(text), "\n") {
			if hit := b.pattern.FindString(line); hit != "" {
				found = append(found, fmt.Sprintf("%s:%d: %q: %s", name, number+1, hit, b.reason))
			}
		}
	}
	return found
}

func TestTextsSpeakOfTheProjectAlone(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all.texts)) {
		if name == own || strings.HasSuffix(name, "go.sum") { // the go command writes names of modules there
			continue
		}
		for _, finding := range banned(name, all.texts[name]) {
			t.Error(finding)
		}
	}
}

func TestBannedTextIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"cp /work/x .":                  "one machine",
		"see (/home/user/x)":            "one machine",
		"https://example.org/home/page": "",
		"a/tmp/b":                       "",
		"GOPROXY=https://example.org":   "where modules come from",
		"x := 1 // TODO: later":         "note to oneself",
		"TODOS and methods":             "",
	} {
		got := strings.Join(banned("x", []byte("first\n"+text)), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) || want != "" && !strings.HasPrefix(got, "x:2: ") {
			t.Errorf("%q: finding %q, want %q", text, got, want)
		}
	}
}
