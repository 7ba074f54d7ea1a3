package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/internal/record"
)

// A lanRun has machines with folders of their own, which take part in one run.
type lanRun struct {
	membersLAN
	machines []string
	address  map[string]string
	running  map[string]*exec.Cmd
	said     map[string]*bytes.Buffer // on both outputs
}

// newLANRun returns machines with a run file, which calls the first ones.
func newLANRun(t *testing.T, file string, called int, machines ...string) *lanRun {
	t.Helper()
	c := &lanRun{membersLAN{t, t.TempDir()}, machines, map[string]string{}, map[string]*exec.Cmd{},
		map[string]*bytes.Buffer{}}
	file += fmt.Sprintf("node: {join_secret: %016x%016x}\npeers:\n", rand.Uint64(), rand.Uint64())
	for i, machine := range machines {
		c.address[machine] = (&site{t: t}).freeAddr()
		if id := bytes.TrimSpace(c.ask(machine, "id", "new")); i < called {
			file += fmt.Sprintf("- {id: %s, addrs: [%s]}\n", id, c.address[machine])
		}
	}
	for _, machine := range machines {
		c.write(machine, "crew.yaml", []byte(file))
	}
	t.Cleanup(func() {
		for machine, cmd := range c.running {
			if cmd.ProcessState == nil {
				cmd.Process.Kill()
				cmd.Wait()
			}
			if t.Failed() {
				t.Logf("%s: %s", machine, c.said[machine])
			}
		}
	})
	return c
}

// write writes a file in the folder of a machine.
func (c *lanRun) write(machine, name string, text []byte) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.command(machine).Dir, name), text, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// start starts the run on a machine.
func (c *lanRun) start(machine string, flags ...string) {
	c.t.Helper()
	cmd := c.command(machine, append([]string{"run", "crew.yaml", "--json", "--set", "node.listen=[" + c.address[machine] +
		"]"}, flags...)...)
	c.said[machine], c.running[machine] = new(bytes.Buffer), cmd
	cmd.Stdout, cmd.Stderr = c.said[machine], c.said[machine]
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *lanRun) kill(machine string) {
	c.running[machine].Process.Kill()
	c.running[machine].Wait()
}

// leave is Ctrl-C on a machine.
func (c *lanRun) leave(machine string) {
	c.t.Helper()
	if err := c.running[machine].Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	c.running[machine].Wait()
}

// ends waits for the end of the run on a machine.
func (c *lanRun) ends(machine string) {
	c.t.Helper()
	if err := c.running[machine].Wait(); err != nil {
		c.t.Fatalf("%s: %v", machine, err)
	}
}

// summary returns the summary among the lines that a machine has printed.
func (c *lanRun) summary(machine string) (s record.Summary) {
	c.t.Helper()
	said := c.said[machine].Bytes()
	at := bytes.Index(said, []byte("\n{"))
	if err := json.NewDecoder(bytes.NewReader(said[at+1:])).Decode(&s); err != nil || at < 0 || s.Digest == "" {
		c.t.Fatalf("no summary with a digest in %s, error %v", said, err)
	}
	return s
}

// folder returns the newest run folder of a machine.
func (c *lanRun) folder(machine string) string {
	c.t.Helper()
	all, err := filepath.Glob(filepath.Join(c.dir, machine, "out", "crew-*"))
	if err != nil || len(all) == 0 {
		c.t.Fatalf("%s: run folders %v, error %v", machine, all, err)
	}
	slices.Sort(all)
	return all[len(all)-1]
}
