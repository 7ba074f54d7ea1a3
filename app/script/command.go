// Package script is the user's program that trains the model of one worker, as the application sees it. It checks the
// command, starts the program as a child of the worker's process, gives it the vectors of its rounds, and keeps its
// state, its losses and its scores. Package bridge talks with the program.
// It also installs gossip.py where Python finds it.
package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/safefile"
)

// separator stands before the command of a script.
const separator = "--"

// After returns the words that follow a command line with a script: none without one.
func After(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	return append([]string{separator}, command...)
}

// Check refuses a run of an external model without a command, and a command for a built-in model. It refuses a program
// that this machine does not have. line is the command line so far, for the advice.
func Check(loaded *configs.Loaded, command []string, line string) error {
	external := loaded.Config.External()
	switch {
	case external && len(command) == 0:
		return wrong(loaded, "is external: the command of your script is missing",
			"type it after --: "+line+" -- python3 train.py")
	case !external && len(command) > 0:
		return wrong(loaded, fmt.Sprintf("is %s, which is built in, but a command follows --: %s", loaded.Config.Model.Name,
			advice.Command(command...)), "set model.name: external to train with the script, or leave the command out")
	case external:
		return lookUp(command[0])
	}
	return nil
}

func wrong(loaded *configs.Loaded, message, hint string) error {
	return loaded.Locate(&configs.Error{Problems: []configs.Problem{{Key: "model.name", Message: message, Hint: hint}}})
}

// lookUp says why a program cannot be started.
func lookUp(program string) error {
	_, err := exec.LookPath(program)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		return nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return advice.Usage(fmt.Errorf("-- %s: command not found", program),
			"give the path of the program, as in -- /usr/bin/python3 train.py")
	case errors.Is(err, fs.ErrPermission):
		return advice.Usage(fmt.Errorf("-- %s: this file is no program that you may run: %w", program, err),
			"chmod +x "+program+", or name its interpreter, as in -- python3 "+program)
	}
	return advice.Usage(fmt.Errorf("-- %s: %w", program, err), "give the path of the program")
}

// A File is a file that a command names.
type File struct {
	Name   string
	Size   int64
	SHA256 string
}

// Files returns the regular files among the words of a command, without its program, and their sums. Two runs of the
// same command train the same model only if these files are the same.
func Files(command []string) ([]File, error) {
	var files []File
	for i, word := range command {
		if info, err := os.Stat(word); i == 0 || err != nil || !info.Mode().IsRegular() {
			continue
		}
		file, err := sum(word)
		if err != nil {
			return nil, fmt.Errorf("script: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func sum(name string) (File, error) {
	f, err := safefile.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	return File{Name: name, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// An Outlet passes the output of a script to a writer that may change: to the screen, and then to the display of the
// run.
type Outlet struct {
	mu sync.Mutex
	to io.Writer
}

// NewOutlet returns an outlet to a writer.
func NewOutlet(to io.Writer) *Outlet { return &Outlet{to: to} }

// Lead sends later lines to another writer.
func (o *Outlet) Lead(to io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = to
}

// Write implements io.Writer.
func (o *Outlet) Write(lines []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(lines)
}
