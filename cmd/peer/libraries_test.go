package main

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/gologshim"
)

// Lines of libraries are for users who ask for them.
func TestLibrariesSayNothingToTheUser(t *testing.T) {
	before, flags, prefix := log.Writer(), log.Flags(), log.Prefix()
	usual := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(usual)
		log.SetOutput(before)
		log.SetFlags(flags)
		log.SetPrefix(prefix)
	})
	l := newLibraries()
	say := func() {
		log.Printf("[zeroconf] no suitable IPv6 interface")
		slog.Error("failed to sufficiently increase receive buffer size")
		gologshim.Logger("swarm2").Error("failed to listen")
	}
	say() // no logger hears it
	for _, test := range []struct {
		level slog.Level
		hears bool
	}{{slog.LevelError, false}, {slog.LevelWarn, false}, {slog.LevelInfo, false}, {slog.LevelDebug, true}} {
		var out bytes.Buffer
		l.to.Store(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: test.level})))
		say()
		got := out.String()
		for _, part := range []string{"no suitable IPv6", "receive buffer", "failed to listen", "logger=swarm2"} {
			if strings.Contains(got, part) != test.hears {
				t.Errorf("at level %v: %q, want %q in it: %v", test.level, got, part, test.hears)
			}
		}
		if strings.Count(got, "level=DEBUG") != strings.Count(got, "level=") {
			t.Errorf("other levels than debug: %s", got)
		}
	}
}
