package peer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/node"
	"gossiptrainer/node/identity"
)

// sesame is a join secret.
const sesame = "2cf24dba5fb0a30e26e83b2ac5b9e29e"

func loaded(t *testing.T, set ...string) *configs.Loaded {
	t.Helper()
	l, err := configs.Load(configs.Source{Set: append([]string{"model={name: quadratic, dim: 10}"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestARunWithoutARosterNeedsASecret(t *testing.T) {
	if got, err := Secret(loaded(t, "node.join_secret="+sesame)); err != nil || got != sesame {
		t.Errorf("%q, error %v", got, err)
	}
	for secret, want := range map[string]string{
		"":            "anybody could join this run",
		"open sesame": "too easy to guess", "change-me": "too easy to guess", configs.Masked: "the secret itself is not here",
	} {
		_, err := Secret(loaded(t, "node.join_secret="+secret))
		if _, ok := errors.AsType[*configs.Error](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", secret, err, want)
		}
	}
}

func TestASecretFileThatIsNotThereSaysWhatMakesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lan.secret")
	_, err := Secret(loaded(t, "node.join_secret_file="+path))
	hinted, ok := errors.AsType[*advice.Error](err)
	if !ok || !strings.Contains(hinted.Hint(), "peer id secret "+path) {
		t.Fatalf("error %v", err)
	}
	if err := identity.CreateSecret(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Secret(loaded(t, "node.join_secret_file="+path)); err != nil || got == "" {
		t.Errorf("%q, error %v", got, err)
	}
}

func TestOptionsAreThoseOfTheRunFile(t *testing.T) {
	run, err := experiment.New(loaded(t, "name=tulip", "topology.size=5", "node.detect=4s", "limit.rate=1mbit").Config)
	if err != nil {
		t.Fatal(err)
	}
	o, err := LANOptions(run, sesame, "0.2.0")
	if err != nil || o.N != 5 || o.Dim != 10 || o.JoinSecret != sesame || o.Detect.Seconds() != 4 ||
		o.Network.Uplink.Rate != 1e6 {
		t.Errorf("%+v, error %v", o, err)
	}
	same := func(s node.Section) bool {
		return s.Name == "program" && string(s.JSON) == `"0.2.0"` && strings.Contains(s.Advice, "same version")
	}
	if o.RunID != configs.RunID("tulip") || !slices.ContainsFunc(o.Sections, same) || len(o.Sections) < 2 {
		t.Errorf("run %v with the sections %+v", o.RunID, o.Sections)
	}
}

func TestAKeyIsTheGivenOneOrTheUsersOwn(t *testing.T) {
	if got, err := KeyPath("site.key"); err != nil || got != "site.key" {
		t.Errorf("%s, error %v", got, err)
	}
	if _, err := os.UserConfigDir(); err != nil {
		t.Skip("SKIPPED: this user has no folder for configuration")
	}
	if got, err := KeyPath(""); err != nil || filepath.Base(got) != "peer.key" {
		t.Errorf("%s, error %v", got, err)
	}
}

func TestPeersOfALabMeetOnThisMachine(t *testing.T) {
	for transport, want := range map[string]string{node.QUIC: "/udp/0/quic-v1", "": "/tcp/0"} {
		if got := loopback(transport); !strings.HasPrefix(got, "/ip4/127.0.0.1/") || !strings.HasSuffix(got, want) {
			t.Errorf("%q: %s", transport, got)
		}
	}
}
