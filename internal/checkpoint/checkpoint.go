// Package checkpoint stores the newest states of one worker on disk. A worker resumes from
// them when its process has ended.
//
// A checkpoint is a folder round-<k>. Its file state.safetensors is the state before round
// k. Its file manifest.json names the worker and the run, and has the checksum of the state.
// Write fills a draft folder and renames it once it is on disk. So a process or a machine
// may end at any time. Begin and Commit are its two halves. The checkpoint of a simulation
// has the states of its workers in a third file, see BeginAll.
//
// Callers decide when a checkpoint is due, and whether a run may resume with a run file
// that differs. docs/format/checkpoints.md describes the files.
package checkpoint

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	recycled  bool  // its memory is that of a spare
	state     *part // nil before Finish
	workers   *part // nil: it is of one worker
	records   archive
}

// A part is a file of a draft that is being written.
type part struct {
	*os.File
	out     *bufio.Writer
	count   counter
	hash    hash.Hash
	content file // once it is written
}

// Begin writes s into a draft of the checkpoint of m in dir. It does not wait for the disk, and needs s no more when it
// returns. Nothing else may be written in dir before Commit or Drop.
func Begin(dir string, m Manifest, s *state.Snapshot) (*Draft, error) {
	d, err := open(dir, m, len(s.Tensors) > 0)
	if err == nil {
		err = d.Finish(s)
	}
	return d, err
}

// BeginAll begins a draft of the checkpoint of m in dir, that of a simulation: Put writes the states of its workers,
// and Finish all else. Nothing else may be written in dir before Commit or Drop.
func BeginAll(dir string, m Manifest) (*Draft, error) {
	d, err := open(dir, m, true)
	if err != nil {
		return nil, err
	}
	if d.workers, err = d.open(workersFile); err != nil {
		return nil, d.failed(err)
	}
	d.records.to = d.workers.out
	return d, nil
}

// open makes the folder of a draft. One without a state takes no spare.
func open(dir string, m Manifest, stateful bool) (*Draft, error) {
	d := &Draft{Manifest: m, dir: dir, path: filepath.Join(dir, unfinished+folderName(m.Round))}
	err := os.MkdirAll(d.dir, 0o755)
	if err == nil {
		err = os.RemoveAll(d.path)
	}
	if err == nil {
		err = d.place(stateful)
	}
	if err != nil {
		return nil, d.failed(err)
	}
	return d, nil
}

// failed drops the draft because of an error.
func (d *Draft) failed(err error) error {
	return fmt.Errorf("checkpoint: round %d: %w", d.Round, errors.Join(err, d.Drop()))
}

// Put writes a part of the state of a worker. It needs s no more when it returns. Finish returns its error.
func (d *Draft) Put(rank int, s *state.Snapshot) { d.records.put(rank, s) }

// Finish writes s, all that Put has not written. It does not wait for the disk, and needs s no more when it returns.
// The draft is dropped where that fails.
func (d *Draft) Finish(s *state.Snapshot) error {
	if d.workers != nil {
		if err := cmp.Or(d.records.err, d.workers.written()); err != nil {
			return d.failed(err)
		}
	}
	var err error
	if d.state, err = d.open(stateFile); err != nil {
		return d.failed(err)
	}
	if err := errors.Join(Encode(d.state.out, s), d.state.written()); err != nil {
		return d.failed(err)
	}
	return nil
}

// Bytes returns how many bytes of states are written.
func (d *Draft) Bytes() int64 {
	if d.state == nil {
		return d.records.bytes
	}
	return d.records.bytes + d.state.count.n
}

// written ends the content of a part, which need not be on disk yet.
func (p *part) written() error {
	err := p.out.Flush()
	p.content = file{Bytes: p.count.n, SHA256: hex.EncodeToString(p.hash.Sum(nil))}
	return err
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
	doc := document{Version: version, Manifest: d.Manifest, State: d.state.content}
	parts := []*part{d.state}
	if d.workers != nil {
		doc.Workers = &d.workers.content
		parts = append(parts, d.workers)
	}
	for _, p := range parts {
		own := p.File
		p.File = nil
		if err := finish(own, p.content.Bytes); err != nil {
			return err
		}
	}
	text, err := doc.encode()
	if err != nil {
		return err
	}
	manifest, err := d.open(manifestFile)
	if err != nil {
		return err
	}
	_, err = manifest.Write(text)
	if err = errors.Join(err, finish(manifest.File, int64(len(text)))); err != nil {
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
	for _, p := range []*part{d.state, d.workers} {
		if p != nil && p.File != nil {
			_ = p.Close() // its content is lost
			p.File = nil
		}
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
