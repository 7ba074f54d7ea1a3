package main

import (
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/configs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// A second signal prints one line: the lost rounds, the safe round, and the command to go on.
func TestARunThatIsBrokenOffSaysWhatIsLost(t *testing.T) {
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: []string{"model={name: quadratic, dim: 50}"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := session.Assemble(loaded)
	if err != nil {
		t.Fatal(err)
	}
	c := silentConsole(t)
	s := &session.Session{Run: run, Folder: &runfolder.Folder{Dir: t.TempDir()}}
	c.loses(func() string { return s.Lost("peer run my.yaml --resume") })
	signal := &screen.SignalError{Signal: os.Interrupt}
	c.breakOff(signal)
	store := worker.NewStore(run, s.Folder.Dir, 3, slog.New(slog.DiscardHandler))
	origin, err := store.Find(worker.Fresh)
	if err != nil {
		t.Fatal(err)
	}
	_, kept, err := store.Begin(origin, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Journal.Close()
	kept.Take(7)
	if err := kept.Write(7); err != nil {
		t.Fatal(err)
	}
	c.breakOff(signal)
	said, err := os.ReadFile(c.err.File.Name())
	const begin = "peer: stopped by signal: interrupt, before it could clean up: "
	want := begin + "the run is lost, no state is safe: the run ended before its first checkpoint\n" +
		begin + "what came after is lost, the state at the beginning of round 7 is safe in " +
		filepath.Join(s.Folder.Dir, runfolder.Checkpoints) + "; go on with: peer run my.yaml --resume\n"
	if err != nil || string(said) != want {
		t.Errorf("said %q, want %q, error %v", said, want, err)
	}
}
