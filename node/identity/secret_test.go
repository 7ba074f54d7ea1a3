package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSecret(t *testing.T) {
	const random = "2cf24dba5fb0a30e26e83b2ac5b9e29e"
	dir := t.TempDir()
	for name, test := range map[string]struct {
		text string
		mode fs.FileMode
		want string // the secret, or a part of the error
		bad  bool
	}{
		"a line":     {random + "\n", 0o600, random, false},
		"no line":    {random, 0o400, random, false},
		"windows":    {random + "\r\n", 0o600, random, false},
		"weak":       {"open sesame\n", 0o600, "too easy to guess", true},
		"group":      {"x", 0o640, "chmod 600", true},
		"all":        {"x", 0o604, "chmod 600", true},
		"empty":      {"\n", 0o600, "the file holds no secret", true},
		"blank":      {" \t\n", 0o600, "the file holds no secret", true},
		"too long":   {strings.Repeat("x", longestSecret+1), 0o600, "1 to 4096 bytes", true},
		"far beyond": {strings.Repeat("x", 2<<20), 0o600, "too long", true},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecret(path)
		var wrong *SecretError
		switch {
		case test.bad && (!errors.As(err, &wrong) ||
			!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		case !test.bad && (err != nil || got != test.want):
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.want)
		}
	}
	if _, err := ReadSecret(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want none there", err)
	}
	if _, err := ReadSecret(dir); err == nil {
		t.Error("a folder is no secret")
	}
}
