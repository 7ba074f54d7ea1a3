// Package checkpoint stores the newest states of one worker on disk. A worker resumes from
// them when its process has ended.
//
// A checkpoint is a folder round-<k>. Its file state.safetensors is the state before round
// k. Its file manifest.json names the worker and the run, and has the checksum of the state.
// Write fills a draft folder and renames it once it is on disk. So a process or a machine
// may end at any time. Begin and Commit are its two halves.
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
	"gossiptrainer/internal/safefile"
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
// returns once all is on disk. An error leaves the earlier checkpoints unchanged. One of the
// removed checkpoints stays as a spare, over which the next one is written.
func Write(dir string, m Manifest, s *state.Snapshot, keep int) error {
	d, err := Begin(dir, m, s)
	if err != nil {
		return err
	}
	return d.Commit(keep)
}

// A Draft is a checkpoint whose state is written, but perhaps not on disk yet.
type Draft struct {
	Manifest
	dir, path string
	recycled  bool // its memory is that of a spare
	state     *os.File
	content   file
}

// Begin writes s into a draft of the checkpoint of m in dir. It does not wait for the disk, and needs s no more when it
// returns. Nothing else may be written in dir before Commit or Drop.
func Begin(dir string, m Manifest, s *state.Snapshot) (*Draft, error) {
	d := &Draft{Manifest: m, dir: dir, path: filepath.Join(dir, unfinished+folderName(m.Round))}
	if err := d.begin(s); err != nil {
		return nil, fmt.Errorf("checkpoint: round %d: %w", m.Round, errors.Join(err, d.Drop()))
	}
	return d, nil
}

func (d *Draft) begin(s *state.Snapshot) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(d.path); err != nil {
		return err
	}
	if err := d.place(s); err != nil {
		return err
	}
	var err error
	if d.state, err = d.open(stateFile); err != nil {
		return err
	}
	hash := sha256.New()
	count := &counter{to: io.MultiWriter(d.state, hash)}
	out := bufio.NewWriterSize(count, 1<<16)
	if err := errors.Join(Encode(out, s), out.Flush()); err != nil {
		return err
	}
	d.content = file{Bytes: count.n, SHA256: hex.EncodeToString(hash.Sum(nil))}
	return nil
}

// Commit makes the draft a checkpoint, as Write says.
func (d *Draft) Commit(keep int) error {
	if err := d.commit(); err != nil {
		return fmt.Errorf("checkpoint: round %d: %w", d.Round, errors.Join(err, d.Drop()))
	}
	if err := Prune(d.dir, d.Round, keep); err != nil {
		return fmt.Errorf("checkpoint: round %d is written, but: %w", d.Round, err)
	}
	return nil
}

func (d *Draft) commit() error {
	state := d.state
	d.state = nil
	if err := finish(state, d.content.Bytes); err != nil {
		return err
	}
	text, err := document{Version: version, Manifest: d.Manifest, State: d.content}.encode()
	if err != nil {
		return err
	}
	manifest, err := d.open(manifestFile)
	if err != nil {
		return err
	}
	_, err = manifest.Write(text)
	if err = errors.Join(err, finish(manifest, int64(len(text)))); err != nil {
		return err
	}
	if err := safefile.SyncFolder(d.path); err != nil {
		return err
	}
	final := filepath.Join(d.dir, folderName(d.Round))
	if err := remove(final); err != nil { // left by a run that went back to an earlier round
		return err
	}
	if err := os.Rename(d.path, final); err != nil {
		return err
	}
	return safefile.SyncFolder(d.dir)
}

// Drop removes the draft. A spare stays for the next one.
func (d *Draft) Drop() error {
	if d.state != nil {
		_ = d.state.Close() // its content is lost
	}
	if d.recycled && os.Rename(d.path, filepath.Join(d.dir, spareName)) == nil {
		return nil
	}
	return os.RemoveAll(d.path)
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

// Prune removes the drafts, the checkpoints of later rounds, and all but the newest keep ≥ 1 up to that of round k.
func Prune(dir string, k, keep int) error {
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
		errs = append(errs, retire(dir, round))
	}
	return errors.Join(errs...)
}

// Clear removes dir with its checkpoints. A process that ends midway leaves only whole checkpoints.
func Clear(dir string) error {
	rounds, _, err := list(dir)
	errs := []error{err}
	for _, round := range rounds {
		errs = append(errs, remove(filepath.Join(dir, folderName(round))))
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// remove turns the checkpoint at path into an abandoned draft and removes it, so that no part of it remains as a
// checkpoint.
func remove(path string) error {
	dir, name := filepath.Split(path)
	draft := filepath.Join(dir, unfinished+"removed-"+name)
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.Rename(path, draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(draft)
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
