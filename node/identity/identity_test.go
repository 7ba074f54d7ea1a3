package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
)

func TestIdentityIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "peer.key")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %04o, want 0600", mode)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.ID() != first.ID() {
		t.Errorf("id %s, want %s again", again.ID(), first.ID())
	}
}

func TestIdentityInUseIsRefusedWithTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peer.key")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("error %v, want who uses it", err)
	} else if !strings.Contains(err.Error(), "node.key") {
		t.Errorf("error %v, want the key that helps", err)
	}
	if _, err := Read(path); err != nil {
		t.Errorf("reading alone claims nothing: %v", err)
	}
}

func TestIdentityRefusesBadFiles(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if _, err := Create(good); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(good); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made over another: %v", err)
	}
	wide := filepath.Join(dir, "wide")
	key, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]struct {
		data []byte
		mode fs.FileMode
		want string
	}{
		"wide":  {key, 0o640, "chmod 600"},
		"empty": {nil, 0o600, "no key file"},
		"cut":   {key[:20], 0o600, "no key file"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, file.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), file.want) {
			t.Errorf("%s: error %v, want %q", name, err, file.want)
		}
	}
	if _, err := Read(wide + "r"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want none there", err)
	}
}

// Arbitrary bytes in a key file cause no panic.
func FuzzIdentity(f *testing.F) {
	who, err := Ephemeral()
	if err != nil {
		f.Fatal(err)
	}
	raw, err := crypto.MarshalPrivateKey(who.key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)-1])
	f.Add([]byte{8, 0, 18, 0})
	path := filepath.Join(f.TempDir(), "key")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if who, err := Read(path); err == nil && who.id.Validate() != nil {
			t.Fatalf("a key without an id: %x", raw)
		}
	})
}
