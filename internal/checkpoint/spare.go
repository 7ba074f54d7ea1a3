package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

// A spare is the folder of a checkpoint that is not needed any more. The next draft is written over its files, and so
// needs no room on the disk: a checkpoint can be taken when the disk is full. A reader of checkpoints skips spares.
const spareName = ".spare"

// Reserve makes a spare in dir for a checkpoint like m, whose state has a number of bytes. It gives the checkpoints
// there the same room, because they become spares later and states differ a little in size.
func Reserve(dir string, m Manifest, bytes int64) error {
	rounds, _, err := list(dir)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for _, k := range rounds {
		if k > 0 {
			_ = allot(filepath.Join(dir, folderName(k), stateFile), 0, bytes, safefile.Allocate) // as far as there is room
		}
	}
	text, err := document{Version: version, Manifest: m, State: file{SHA256: digest(nil)}}.encode()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	path := filepath.Join(dir, spareName)
	_, missing := os.Stat(path)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	const digits = 64 // more in the numbers of a later manifest
	err = errors.Join(allot(filepath.Join(path, stateFile), os.O_CREATE, bytes, safefile.Fill),
		allot(filepath.Join(path, manifestFile), os.O_CREATE, int64(len(text)+digits), safefile.Fill))
	switch {
	case err == nil:
		return nil
	case missing != nil:
		err = errors.Join(err, os.RemoveAll(path))
	}
	return fmt.Errorf("checkpoint: %w", err)
}

// allot lets allocate give a file room.
func allot(path string, flag int, bytes int64, allocate func(*os.File, int64) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flag, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, bytes), f.Close())
}

// Unreserve removes the spare in dir.
func Unreserve(dir string) error { return os.RemoveAll(filepath.Join(dir, spareName)) }

// Slim leaves only the newest checkpoint in dir.
func Slim(dir string) error {
	newest, there := Newest(dir)
	if !there {
		return nil
	}
	return errors.Join(Prune(dir, newest, 1), Unreserve(dir))
}

// retire makes the checkpoint before round k the spare of its folder, or removes it if there is a spare. That of round
// 0 has no state, and so no room.
func retire(dir string, k int) error {
	path, spare := filepath.Join(dir, folderName(k)), filepath.Join(dir, spareName)
	if k > 0 && os.Rename(path, spare) == nil {
		return nil
	}
	return remove(path) // a spare is there
}

// place makes the folder of the draft: of the spare, if there is one and the draft has a state.
func (d *Draft) place(stateful bool) error {
	if stateful {
		err := os.Rename(filepath.Join(d.dir, spareName), d.path)
		if d.recycled = err == nil; d.recycled || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Mkdir(d.path, 0o755)
}

// open opens a file of the draft, whose room stays.
func (d *Draft) open(name string) (*part, error) {
	own, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &part{File: own, hash: sha256.New()}
	p.count.to = io.MultiWriter(own, p.hash)
	p.out = bufio.NewWriterSize(&p.count, 1<<16)
	return p, nil
}

// finish cuts a file after its new content, and returns when it is on disk.
func finish(f *os.File, length int64) error {
	return errors.Join(f.Truncate(length), f.Sync(), f.Close())
}
