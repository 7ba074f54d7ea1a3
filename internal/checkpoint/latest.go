package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/safefile"
)

// A Found is a checkpoint read from disk.
type Found struct {
	Manifest
	Path    string
	State   *state.Snapshot
	Workers *Workers        // of a simulation; nil: there are none
	Skipped []*DamagedError // damaged checkpoints that are newer, newest first
}

// ErrNone says that a folder has no checkpoint.
var ErrNone = errors.New("no checkpoint")

// A DamagedError says that a checkpoint has changed since it was written.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint %s: damaged: %v", e.Path, e.Err)
}
func (e *DamagedError) Unwrap() error { return e.Err }

// A VersionError says that a checkpoint has another format version.
type VersionError struct {
	Path    string
	Version int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("checkpoint %s: of version %d of the format, this program reads version %d", e.Path, e.Version,
		version)
}

// Hint tells the user how to proceed.
func (e *VersionError) Hint() string {
	return "go on with the program that wrote it, or start the run again without --resume"
}

// Latest reads the newest intact checkpoint in dir and lists the damaged ones that it
// skipped. If all are damaged, the error wraps the *DamagedError of the newest. If there is
// none, it wraps ErrNone. A checkpoint of another version is an error and is not skipped:
// resuming from an older one would surprise the user.
func Latest(dir string) (*Found, error) { return latest(dir, read) }

// Peek is Latest without the state. It does not check that the state is intact.
func Peek(dir string) (*Found, error) { return latest(dir, peek) }

func latest(dir string, read func(path string, k int) (*Found, error)) (*Found, error) {
	rounds, _, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var skipped []*DamagedError
	for _, k := range slices.Backward(rounds) {
		found, err := read(filepath.Join(dir, folderName(k)), k)
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
			skipped = append(skipped, damaged)
		case err != nil:
			return nil, err
		default:
			found.Skipped = skipped
			return found, nil
		}
	}
	if len(skipped) > 0 {
		return nil, fmt.Errorf("no checkpoint in %s is whole: %w", dir, skipped[0])
	}
	return nil, fmt.Errorf("%w in %s", ErrNone, dir)
}

// StateFile returns the file of the state in the folder of a checkpoint, and other paths as they are. The error of
// another folder says which file to take.
func StateFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, nil // opening it gives the error
	}
	state := filepath.Join(path, stateFile)
	if _, err := os.Stat(state); err == nil {
		return state, nil
	}
	take := "a model file in it"
	if k, there := Newest(path); there {
		take = filepath.Join(path, folderName(k))
	} else if files, _ := filepath.Glob(filepath.Join(path, "*.safetensors")); len(files) > 0 {
		take = files[0] // the mean comes before the replicas
	}
	return "", fmt.Errorf("%s is a folder: take %s", path, take)
}

// Newest returns the round of the newest checkpoint in dir, intact or not, and whether there
// is one.
func Newest(dir string) (round int, there bool) {
	rounds, _, err := list(dir)
	if err != nil || len(rounds) == 0 {
		return 0, false
	}
	return rounds[len(rounds)-1], true
}

// Count returns how many checkpoints with a state are in dir, intact or not.
func Count(dir string) (n int) {
	rounds, _, _ := list(dir) // of a folder that cannot be read there are none
	for _, k := range rounds {
		if k > 0 {
			n++
		}
	}
	return n
}

// read reads the checkpoint before round k.
func read(path string, k int) (*Found, error) {
	d, err := describe(path, k)
	if err != nil {
		return nil, err
	}
	s, err := readState(filepath.Join(path, stateFile), d.State)
	if err != nil {
		return nil, &DamagedError{path, fmt.Errorf("%s: %w", stateFile, err)}
	}
	found := &Found{Manifest: d.Manifest, Path: path, State: s}
	if d.Workers == nil {
		return found, nil
	}
	if found.Workers, err = readWorkers(filepath.Join(path, workersFile), *d.Workers); err != nil {
		return nil, &DamagedError{path, fmt.Errorf("%s: %w", workersFile, err)}
	}
	return found, nil
}

func peek(path string, k int) (*Found, error) {
	d, err := describe(path, k)
	return &Found{Manifest: d.Manifest, Path: path}, err
}

// describe reads the manifest of the checkpoint before round k.
func describe(path string, k int) (document, error) {
	d, err := readManifest(filepath.Join(path, manifestFile))
	if errors.Is(err, errVersion) {
		return d, &VersionError{path, d.Version}
	}
	if err == nil && d.Round != k {
		err = fmt.Errorf("%s: of round %d", manifestFile, d.Round)
	}
	if err != nil {
		return d, &DamagedError{path, err}
	}
	return d, nil
}

func readManifest(path string) (document, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return document{}, err
	}
	defer f.Close()
	d, err := readDocument(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", manifestFile, err)
	}
	return d, err
}

// A pathReader reads a file that is open during each call alone, so that it needs no Close.
type pathReader string

func (p pathReader) ReadAt(b []byte, at int64) (int, error) {
	f, err := safefile.Open(string(p))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, at)
}

// readState reads a state. Long vectors stay in the file.
func readState(path string, want file) (s *state.Snapshot, err error) {
	err = checked(path, want, func(r io.Reader) error {
		s, err = decode(r, want.Bytes, pathReader(path))
		return err
	})
	return s, err
}

// readWorkers finds the states of workers, which stay in the file.
func readWorkers(path string, want file) (w *Workers, err error) {
	err = checked(path, want, func(r io.Reader) error {
		w, err = scan(r, want.Bytes, pathReader(path))
		return err
	})
	return w, err
}

// checked lets read have the whole content of a file, and checks its size and hash against want. It checks the size
// before read allocates memory.
func checked(path string, want file, read func(r io.Reader) error) error {
	f, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != want.Bytes {
		return fmt.Errorf("%d bytes, want %d", info.Size(), want.Bytes)
	}
	hash := sha256.New()
	if err := read(io.TeeReader(bufio.NewReaderSize(f, 1<<16), hash)); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("its SHA-256 is %s, want %s", got, want.SHA256)
	}
	return nil
}
