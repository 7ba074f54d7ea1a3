package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const theirs = `# A run of three.
name: lan            # peers look for it

data: {name: glyphs, dir: /srv/data}
topology:
  size: 3            # machines
train: {rounds: 20, from: /etc/passwd}
output: {dir: /srv/runs}
checkpoint: {dir: /srv/checkpoints}
node:
  # told to all
  detect: 4s
  key: /etc/key
  join_secret_file: /etc/secret
  listen: [/ip4/10.0.0.1/tcp/1]
peers:
  - {id: a, addrs: [/ip4/10.0.0.2/tcp/1]}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "theirs.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The run file of another machine cannot name folders, keys or files of this one.
func TestAnAdoptedRunFileIsForThisMachine(t *testing.T) {
	got, err := Adopt(write(t, theirs), []string{"output.dir=mine", "node.detect=9s"},
		map[string]any{"node.join_secret_file": "lan.secret"})
	if err != nil {
		t.Fatal(err)
	}
	want := `# A run of three.
name: lan  # peers look for it
topology:
  size: 3  # machines
data:
  name: glyphs
train:
  rounds: 20
  from: start.safetensors
peers:
- id: a
  addrs:
  - /ip4/10.0.0.2/tcp/1
node:
  join_secret_file: lan.secret
  # told to all
  detect: 9s
output:
  dir: mine
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnAdoptedRunFileOfAWrongForm(t *testing.T) {
	for text, want := range map[string]string{
		"name: [1]\n": "name", "topology: {size: many}\n": "topology.size", "a\x00b": "not a text file", "": "empty",
	} {
		_, err := Adopt(write(t, text), nil, nil)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Adopt(write(t, theirs), []string{"node.detect"}, nil); err == nil {
		t.Error("an override without a value is accepted")
	}
}

func TestRunFilesAreWrittenWithCommentsInTheirOrder(t *testing.T) {
	text := strings.NewReplacer("/etc/passwd", "", ", from: ", "", "glyphs", "mnist", "id: a", "id: "+
		"12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "size: 3", "size: 1").Replace(theirs)
	l, err := Load(Source{File: write(t, text), Set: []string{"seed=7"}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := l.Kept(map[string]any{"node.listen": []any{"/ip4/0.0.0.0/tcp/4001"}})
	if err != nil {
		t.Fatal(err)
	}
	handed, err := l.Handed(map[string]any{"node.join_secret_file": "lan.secret"})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"/srv/data", "/srv/runs", "/etc/key", "/etc/secret", "10.0.0.2"} {
		if !strings.Contains(string(kept), own) {
			t.Errorf("the file of this machine lacks %s:\n%s", own, kept)
		}
		if strings.Contains(string(handed), own) {
			t.Errorf("the file for another machine has %s:\n%s", own, handed)
		}
	}
	for _, text := range []string{string(kept), string(handed)} {
		last := -1
		for _, part := range []string{"# A run of three.\n", "name: lan  # peers look for it\n", "seed: 7\n",
			"size: 1  # machines", "rounds: 20\n", "# told to all\n  detect: 4s\n"} {
			at := strings.Index(text, part)
			if at <= last {
				t.Errorf("%q is not there, or not in its place:\n%s", part, text)
			}
			last = at
		}
	}
	if !strings.Contains(string(kept), "/ip4/0.0.0.0/tcp/4001") || !strings.Contains(string(handed), ": lan.secret") {
		t.Errorf("values are missing:\n%s\n%s", kept, handed)
	}
}
