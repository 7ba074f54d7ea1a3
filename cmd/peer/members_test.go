package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/identity"
)

// joinedRun is a run of one founder, which others join.
const joinedRun = `
name: crew
membership: {mode: view, min: 1, max: 3, grace: 20s}
topology: {size: 1}
algorithm: {codec: full}
model: {name: quadratic, dim: 200}
train: {rounds: 1000000, step_size: 0.1, momentum: 0, schedule: constant}
output: {dir: out}
`

// A membersLAN is a LAN of machines with folders of their own.
type membersLAN struct {
	t   *testing.T
	dir string
}

// command returns a command of a machine.
func (c *membersLAN) command(machine string, args ...string) *exec.Cmd {
	c.t.Helper()
	path, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		c.t.Fatal(err)
	}
	dir := filepath.Join(c.dir, machine)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), path, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_RUNTIME_DIR="+c.dir)
	return cmd
}

// ask returns what a command prints.
func (c *membersLAN) ask(machine string, args ...string) []byte {
	c.t.Helper()
	cmd := c.command(machine, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("peer %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return out
}

// members waits until all machines report n members.
func (c *membersLAN) members(machines, n int) (views []*status.Membership) {
	c.t.Helper()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for range 600 {
		var got status.Answers
		if err := json.Unmarshal(c.ask("attic", "status", "--json"), &got); err != nil {
			c.t.Fatal(err)
		}
		at := 0
		for _, v := range got.Views {
			if len(v.Members) == n {
				at++
			}
		}
		if at == machines {
			return got.Views
		}
		<-look.C
	}
	c.t.Fatalf("%d members of %d machines: did not happen", n, machines)
	return nil
}

// A machine is invited while a run goes on, and joins it. Then one command ends the run for both. They have one digest,
// summaries with the views, and a log that replays.
func TestAMachineIsInvitedAndTheRunIsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := &membersLAN{t, t.TempDir()}
	c.ask("attic", "id", "secret", "crew.secret")
	key := filepath.Join(c.dir, "attic", "gossiptrainer", "peer.key")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	who, err := identity.Create(key)
	if err != nil {
		t.Fatal(err)
	}
	file := joinedRun + "node: {join_secret_file: crew.secret}\n" +
		fmt.Sprintf("peers: [{id: %s, addrs: [%s]}]\n", who.ID(), (&site{t: t}).freeAddr())
	if err := os.WriteFile(filepath.Join(c.dir, "attic", "crew.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`addrs: \[(.*)\]\}`).FindStringSubmatch(file)[1]
	var all [2]*exec.Cmd
	var out, said [2]bytes.Buffer
	start := func(i int, cmd *exec.Cmd) {
		all[i], cmd.Stdout, cmd.Stderr = cmd, &out[i], &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for i, cmd := range all {
			if cmd != nil && cmd.ProcessState == nil {
				cmd.Process.Kill()
				cmd.Wait()
				t.Logf("machine %d: %s%s", i, out[i].String(), said[i].String())
			}
		}
	}()
	start(0, c.command("attic", "run", "crew.yaml", "--json", "--set", "node.listen=["+address+"]"))
	c.members(1, 1)

	invite := c.command("attic", "invite", "crew.yaml", "--address", "127.0.0.1")
	var refused bytes.Buffer
	invite.Stderr = &refused
	token, err := invite.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := invite.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 512)
	n, err := token.Read(line)
	if err != nil {
		t.Fatalf("invite: %v: %s", err, refused.String())
	}
	words := strings.Fields(string(line[:n]))
	if len(words) < 3 {
		t.Fatalf("no token in %q", line[:n])
	}
	start(1, c.command("shelf", "join", words[2], "--run", "--json", "--set", "node.listen=[/ip4/127.0.0.1/tcp/0]",
		"--set", "output.dir=out"))
	if err := invite.Wait(); err != nil {
		t.Error(err)
	}
	if views := c.members(2, 2); views[0].View != 1 || !strings.HasSuffix(views[1].Why, " joins") {
		t.Errorf("views %+v", *views[0])
	}
	if text := string(c.ask("shelf", "status")); !strings.Contains(text, "\ncrew: view 1 from exchange ") {
		t.Errorf("status:\n%s", text)
	}
	if text := string(c.ask("shelf", "stop")); !strings.Contains(text, "has told the members of crew to stop") {
		t.Errorf("stop: %s", text)
	}
	var sums [2]record.Summary
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("machine %d: %v: %s", i, err, said[i].String())
		}
		if err := json.Unmarshal(out[i].Bytes(), &sums[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, machine := range []string{"attic", "shelf"} {
		s := sums[i]
		if s.Digest == "" || s.Digest != sums[0].Digest || s.Peers != 2 || s.Rounds != sums[0].Rounds || s.Losses == nil ||
			len(s.Losses.Log) != 3 || !strings.Contains(s.Ended, "stops the run") {
			t.Errorf("the summary of %s: %+v, losses %+v", machine, s, s.Losses)
		}
		folder, err := filepath.Glob(filepath.Join(c.dir, machine, "out", "crew-*"))
		if err != nil || len(folder) != 1 {
			t.Fatalf("run folders %v, error %v", folder, err)
		}
		replayed := c.ask(machine, "sim", filepath.Join(folder[0], "run.yaml"), "--views", folder[0], "--json")
		if s.Loss == nil || *s.Loss != *sums[0].Loss {
			t.Errorf("%s: the mean loss is %v, want that of both members, %v", machine, s.Loss, sums[0].Loss)
		}
		if !strings.Contains(string(replayed), s.Digest) {
			t.Errorf("the replay of the log of %s: %s, want %s", machine, replayed, s.Digest)
		}
		c.ask(machine, "report", folder[0])
	}
}

// A machine that reaches the loss of its --until stops the run, which the log of views says. A machine alone agrees
// with itself.
func TestAMachineStopsTheRunAtItsLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := &membersLAN{t, t.TempDir()}
	c.ask("attic", "id", "secret", "crew.secret")
	file := joinedRun + "node: {join_secret_file: crew.secret, listen: [/ip4/127.0.0.1/tcp/0]}\n"
	if err := os.WriteFile(filepath.Join(c.dir, "attic", "crew.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	var s record.Summary
	if err := json.Unmarshal(c.ask("attic", "run", "crew.yaml", "--until", "loss=0.5", "--json"), &s); err != nil {
		t.Fatal(err)
	}
	if s.Ended != "loss=0.5" || s.Digest == "" || s.Losses == nil || len(s.Losses.Log) != 2 ||
		!strings.HasSuffix(s.Losses.Log[1].Why, "stops the run") {
		t.Errorf("ended by %q with digest %.8s, losses %+v", s.Ended, s.Digest, s.Losses)
	}
}

// The older of two members dies, so that the other one has no majority. It ends and keeps its model, from which it
// founds another run. The log of that run names the old one, and replays.
func TestAMachineGoesOnWithoutAMajority(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := &membersLAN{t, t.TempDir()}
	file := strings.NewReplacer("model: {name: quadratic, dim: 200}", "model: {name: mlp, hidden: [4]}",
		"size: 1", "size: 2", "grace: 20s", "grace: 3s").Replace(joinedRun) +
		fmt.Sprintf("node: {join_secret: %016x%016x}\npeers:\n", rand.Uint64(), rand.Uint64())
	address := map[string]string{"attic": (&site{t: t}).freeAddr(), "shelf": (&site{t: t}).freeAddr()}
	for _, machine := range []string{"attic", "shelf"} {
		file += fmt.Sprintf("- {id: %s, addrs: [%s]}\n", bytes.TrimSpace(c.ask(machine, "id", "new")), address[machine])
	}
	running := map[string]*exec.Cmd{}
	words := map[string]*bytes.Buffer{"attic": {}, "shelf": {}}
	t.Cleanup(func() {
		for machine, cmd := range running {
			if t.Failed() {
				cmd.Process.Kill()
				cmd.Wait()
				t.Logf("%s: %s", machine, words[machine])
			}
		}
	})
	for machine := range address {
		if err := os.WriteFile(filepath.Join(c.dir, machine, "crew.yaml"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		running[machine] = c.command(machine, "run", "crew.yaml", "--set", "node.listen=["+address[machine]+"]")
		running[machine].Stderr = words[machine]
		if err := running[machine].Start(); err != nil {
			t.Fatal(err)
		}
	}
	stays := ""
	for _, v := range c.members(2, 2) {
		machine := filepath.Base(filepath.Dir(filepath.Dir(v.Folder)))
		if v.Member > 0 {
			stays = machine
			continue
		}
		running[machine].Process.Kill()
		running[machine].Wait()
	}
	if err := running[stays].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	running[stays].Wait()
	old, err := filepath.Glob(filepath.Join(c.dir, stays, "out", "crew-*"))
	if err != nil || len(old) != 1 {
		t.Fatalf("run folders %v, error %v", old, err)
	}
	again := c.command(stays, "run", "crew.yaml", "--json", "--without-majority", old[0], "--set", "output.dir=new",
		"--set", "node.listen=["+address[stays]+"]")
	var out, said bytes.Buffer
	again.Stdout, again.Stderr = &out, &said
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the machine that stays: %s", said.String())
		}
	})
	c.members(1, 1)
	c.ask(stays, "stop")
	if err := again.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	isReplayed(t, c, stays, out.Bytes())
	if !strings.Contains(said.String(), "who go on from view 0 of lineage ") {
		t.Errorf("it says %s", said.String())
	}
}

// isReplayed checks that the log of a run begins with a parent, and replays to the digest of its summary.
func isReplayed(t *testing.T, c *membersLAN, machine string, summary []byte) {
	t.Helper()
	var s record.Summary
	if err := json.Unmarshal(summary, &s); err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Glob(filepath.Join(c.dir, machine, "new", "crew-*"))
	if err != nil || len(folder) != 1 {
		t.Fatalf("run folders %v, error %v", folder, err)
	}
	log, err := os.ReadFile(filepath.Join(folder[0], "views.jsonl"))
	if err != nil || !regexp.MustCompile(`"parent":{"lineage":"[0-9]+","view":0}`).Match(log) {
		t.Errorf("the log %s, error %v", log, err)
	}
	replayed := c.ask(machine, "sim", filepath.Join(folder[0], "run.yaml"), "--views", folder[0], "--json")
	if s.Digest == "" || !strings.Contains(string(replayed), s.Digest) {
		t.Errorf("the replay: %s, want %s", replayed, s.Digest)
	}
}
