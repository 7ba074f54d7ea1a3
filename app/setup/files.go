package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/safefile"
)

// Endings of the files of a run.
const (
	runEnding    = ".yaml"
	secretEnding = ".secret"
)

// An Overwrite says whether files that exist may be replaced.
type Overwrite bool

// Values of Overwrite.
const (
	keepFiles    Overwrite = false
	replaceFiles Overwrite = true
)

// paths are the files of a run, in the present folder.
type paths struct{ runFile, secret string }

func pathsOf(name string) paths { return paths{name + runEnding, name + secretEnding} }

// free reports whether neither file exists.
func (p paths) free() bool { return p.taken() == "" }

// taken returns the name of a file that exists, "" without one.
func (p paths) taken() string {
	for _, name := range []string{p.runFile, p.secret} {
		if _, err := os.Lstat(name); err == nil {
			return name
		}
	}
	return ""
}

// check refuses to write where a file of these names exists, or where others could replace the secret.
func (p paths) check(o Overwrite) error {
	if taken := p.taken(); taken != "" && o == keepFiles {
		return &takenError{taken}
	}
	info, err := os.Stat(".")
	if err != nil {
		return err
	}
	if mode := info.Mode(); os.PathSeparator == '/' && mode.Perm()&0o002 != 0 && mode&os.ModeSticky == 0 {
		return advice.With(fmt.Errorf("this folder has mode %04o: others could replace the secret in it", mode.Perm()),
			"chmod o-w . or change to another folder")
	}
	return nil
}

// A takenError says that a file to write exists.
type takenError struct{ name string }

func (e *takenError) Error() string { return e.name + " exists already" }

// Hint says what to do.
func (e *takenError) Hint() string { return "take another name or folder, or replace it with --force" }

// write writes both files. If one cannot be made, neither is. An empty secret has no file.
func (p paths) write(runFile, secret string, o Overwrite) (err error) {
	if err := p.check(o); err != nil {
		return err
	}
	files := []struct {
		name, text string
		perm       fs.FileMode
	}{{p.secret, secret, 0o600}, {p.runFile, runFile, 0o644}}
	var made []string
	defer func() {
		if err != nil {
			for _, name := range made {
				os.Remove(name)
			}
		}
	}()
	for _, f := range files {
		if f.text == "" {
			continue
		}
		if o == keepFiles { // the name is ours from here on
			claimed, err := os.OpenFile(f.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.perm)
			if errors.Is(err, fs.ErrExist) {
				return &takenError{f.name}
			}
			if err != nil {
				return unwritable(err)
			}
			claimed.Close()
			made = append(made, f.name)
		}
		if err := safefile.Write(f.name, []byte(f.text), f.perm); err != nil {
			return unwritable(err)
		}
	}
	return safefile.SyncFolder(".")
}

// replace replaces a run file.
func replace(name, text string) error {
	if err := safefile.Write(name, []byte(text), 0o644); err != nil {
		return unwritable(err)
	}
	return nil
}

// tryOut writes a run file under a temporary name for use, which also shows that this folder takes files.
func tryOut(runFile string, use func(name string) error) error {
	f, err := os.CreateTemp(".", ".peer-*"+runEnding)
	if err != nil {
		return unwritable(err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(runFile)
	if err = errors.Join(err, f.Close()); err != nil {
		return unwritable(err)
	}
	return renamed(use(f.Name()), f.Name())
}

// renamed names what people know in place of the temporary name of a run file, which is gone when they read the error.
func renamed(err error, temporary string) error {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return err
	}
	for i, p := range e.Problems {
		if filepath.Base(p.Source) == filepath.Base(temporary) {
			e.Problems[i].Source = "the run file of these answers"
		}
	}
	return err
}

// writable reports why no file can be written here.
func writable() error { return tryOut("#\n", func(string) error { return nil }) }

// unwritable explains why a file cannot be written here.
func unwritable(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	hint := "change to a folder in which you may write, then type the command again"
	if machine.IsFull(err) {
		hint = "make room on the disk, or change to a folder on another one, then type the command again"
	}
	return advice.With(fmt.Errorf("no file can be written in this folder: %w", err), hint)
}
