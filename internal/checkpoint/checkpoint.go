// Package checkpoint stores the newest states of one worker on disk. A worker resumes from
// them when its process has ended.
//
// A checkpoint is a folder round-<k>. Its file state.safetensors is the state before round
// k. Its file manifest.json names the worker and the run, and has the checksum of the state.
// Write fills a draft folder and renames it once it is on disk. So a process or a machine
// may end at any time.
//
// Callers decide when a checkpoint is due, and whether a run may resume with a run file
// that differs. docs/format/checkpoints.md describes the files.
package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/atomicfile"
)

const (
	stateFile    = "state.safetensors"
	manifestFile = "manifest.json"
	prefix       = "round-"
	unfinished   = ".unfinished-" // prefix of a draft folder
	digits       = 8              // least width of a round number
)

// folderName returns the folder name of the checkpoint before round k.
func folderName(k int) string { return fmt.Sprintf("%s%0*d", prefix, digits, k) }

// Write stores s as the checkpoint of m in dir and creates dir if needed. It then removes
// all but the newest keep ≥ 1 checkpoints, those of later rounds, and abandoned drafts. It
// returns once all is on disk. An error leaves the earlier checkpoints unchanged.
func Write(dir string, m Manifest, s *state.Snapshot, keep int) error {
	if err := write(dir, m, s); err != nil {
		return fmt.Errorf("checkpoint: round %d: %w", m.Round, err)
	}
	if err := prune(dir, m.Round, keep); err != nil {
		return fmt.Errorf("checkpoint: round %d is written, but: %w", m.Round, err)
	}
	return nil
}

func write(dir string, m Manifest, s *state.Snapshot) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	final := filepath.Join(dir, folderName(m.Round))
	draft := filepath.Join(dir, unfinished+folderName(m.Round))
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.Mkdir(draft, 0o755); err != nil {
		return err
	}
	if err := fill(draft, m, s); err != nil {
		return errors.Join(err, os.RemoveAll(draft))
	}
	if err := os.RemoveAll(final); err != nil { // left by a run that went back to an earlier round
		return errors.Join(err, os.RemoveAll(draft))
	}
	if err := os.Rename(draft, final); err != nil {
		return errors.Join(err, os.RemoveAll(draft))
	}
	return atomicfile.SyncFolder(dir)
}

// fill writes the files of a checkpoint.
func fill(draft string, m Manifest, s *state.Snapshot) error {
	content, err := writeState(filepath.Join(draft, stateFile), s)
	if err != nil {
		return err
	}
	text, err := document{Version: Version, Manifest: m, State: content}.encode()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(draft, manifestFile), text, 0o644); err != nil {
		return err
	}
	return atomicfile.SyncFolder(draft)
}

func writeState(path string, s *state.Snapshot) (file, error) {
	f, err := atomicfile.New(path, 0o644)
	if err != nil {
		return file{}, err
	}
	defer f.Cleanup()
	hash := sha256.New()
	count := &counter{to: io.MultiWriter(f, hash)}
	out := bufio.NewWriterSize(count, 1<<16)
	if err := errors.Join(Encode(out, s), out.Flush()); err != nil {
		return file{}, err
	}
	return file{Bytes: count.n, SHA256: hex.EncodeToString(hash.Sum(nil))}, f.Commit()
}

// A counter counts the bytes that it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// prune removes the checkpoints and drafts that the checkpoint before round k supersedes.
func prune(dir string, k, keep int) error {
	rounds, drafts, err := list(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range drafts {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	kept := 0
	for _, round := range slices.Backward(rounds) {
		if round <= k && kept < max(1, keep) {
			kept++
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(dir, folderName(round))))
	}
	return errors.Join(errs...)
}

// list returns the rounds of the checkpoints in dir in increasing order, and the drafts.
// A missing folder has none.
func list(dir string) (rounds []int, drafts []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			drafts = append(drafts, e.Name())
		}
		number, ok := strings.CutPrefix(e.Name(), prefix)
		k, wrong := strconv.Atoi(number)
		if ok && wrong == nil && k >= 0 && e.Name() == folderName(k) && e.IsDir() {
			rounds = append(rounds, k)
		}
	}
	slices.Sort(rounds)
	return rounds, drafts, err
}
