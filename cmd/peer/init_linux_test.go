package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A typist uses a program on a terminal of its own.
type typist struct {
	*exec.Cmd
	t      *testing.T
	screen *os.File
	said   string
}

// atTerminal starts the program in a folder on a terminal.
func atTerminal(t *testing.T, dir string, args ...string) *typist {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: there is no terminal to make: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	c := program(t, dir, args...)
	c.Stdin, c.Stdout, c.Stderr = keys, keys, keys
	c.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return &typist{c, t, screen, ""}
}

// program returns the command of a machine, whose folder has its key as well.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("peer")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, ".config"), "TERM=xterm", "LC_ALL=C.UTF-8")
	return c
}

// read reads up to a text.
func (s *typist) read(text string) {
	s.t.Helper()
	for !strings.Contains(s.said, text) {
		s.more()
	}
}

// more reads on.
func (s *typist) more() {
	s.t.Helper()
	piece := make([]byte, 1024)
	n, err := s.screen.Read(piece)
	if s.said += string(piece[:n]); err != nil {
		s.t.Fatalf("it has ended, and said: %s", s.said)
	}
}

// answer types a line after a text.
func (s *typist) answer(question, line string) {
	s.t.Helper()
	s.read(question)
	s.said = ""
	if _, err := s.screen.WriteString(line); err != nil {
		s.t.Fatal(err)
	}
}

// leftIn returns the visible files of a folder.
func leftIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		names = append(names, filepath.Base(path))
	}
	return names
}

func TestCtrlCAmongTheQuestionsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := atTerminal(t, dir, "init")
	s.answer("1/6  Name of the run and of its files [lan]: ", "\r")
	s.answer("2/6  Machines", "4\r")
	s.answer("3/6  Data", "\x03")
	s.read("stopped by signal: interrupt")
	s.Wait()
	if code := s.ProcessState.ExitCode(); code != exitSignal+2 {
		t.Errorf("exit code %d", code)
	}
	if left := leftIn(t, dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// The answers of a person make a run file, and the token that follows hands it to a second machine.
func TestARunIsSetUpByHand(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	s := atTerminal(t, first, "init", "--machines", "2", "--address", "127.0.0.1")
	s.answer("Name of the run", "two runs\r")
	s.answer("want letters, digits", "two\r")
	s.answer("3/6  Data", "\r")
	s.answer("4/6  Rate of the slowest link", "20mbit\r")
	s.answer("5/6  Rounds of training [auto]: ", "7\r")
	s.answer("6/6  Membership", "\r")
	s.read("type this on the other machines (1)")
	command := regexp.MustCompile(`peer join ([0-9A-Z-]+)\r?\n`)
	for !command.MatchString(s.said) {
		s.more()
	}
	token := command.FindStringSubmatch(s.said)[1]
	other := atTerminal(t, second, "join")
	other.answer("Token that peer init shows on the first machine: ", token[:20]+"\r")
	other.answer("a part is missing", strings.ToLower(token)+"\r")
	other.read("next: peer run two.yaml")
	s.read("has joined: 2 of 2 machines are here")
	for _, c := range []*typist{s, other} {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	var secrets, files [2][]byte
	for i, dir := range []string{first, second} {
		var err error
		if secrets[i], err = os.ReadFile(filepath.Join(dir, "two.secret")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "two.secret")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, error %v", info.Mode(), err)
		}
		show := program(t, dir, "config", "show", "two.yaml")
		if files[i], err = show.Output(); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(secrets[0], secrets[1]) || !bytes.Equal(files[0], files[1]) || !bytes.Contains(files[0],
		[]byte("rounds: 7")) {
		t.Errorf("the machines have different files:\n%s\n%s", files[0], files[1])
	}
}
