// Package runfolder reads and writes the folder of a run: its run file, its record, final models, summary and
// checkpoints. It finds the folder of a run to resume, locks a folder in use, and says which files do not fit on a full
// disk.
//
// It trains nothing and prints nothing.
//
// It also lists past runs by their folders, says in what two of them differ, and removes old ones. It asks before it
// removes a run, and never removes one that goes on.
package runfolder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// A Folder is the folder of a run: the resolved run file, the events in order of arrival, the final models, and the
// summary.
type Folder struct {
	Dir     string
	lock    *safefile.Lock
	events  *os.File
	count   int          // of the events of the record
	waiting bytes.Buffer // events that are not on disk yet
	refused bool         // the disk was full when it was last tried
	leave   int64        // see Leave
	err     error        // why events were dropped

	fresh   bool // this process has made it
	own     int  // the rank whose steps show that the run has begun; everyRank: every one
	trained bool // there was such a step
}

// everyRank stands for all ranks of a run.
const everyRank = -1

// MostWaiting bounds the bytes of events that wait for a full disk.
const MostWaiting = 16 << 20

// Make makes the folder <name>-<UTC time> of a run that begins now.
func Make(cfg configs.Config, now time.Time) (*Folder, error) {
	if err := os.MkdirAll(cfg.Output.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	stem := filepath.Join(cfg.Output.Dir, cfg.Name+"-"+now.UTC().Format(stampLayout))
	dir := stem
	for n := 2; ; n++ { // another run may have begun in the same second
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("output: %w", err)
		}
		dir = stem + "-" + strconv.Itoa(n)
	}
	f, err := Open(cfg, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	f.fresh = true
	return f, nil
}

// Open opens the folder of a resumed run, which may be empty. It changes nothing while another process has the folder.
func Open(cfg configs.Config, dir string) (*Folder, error) {
	lock, err := Lock(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, lock: lock, own: everyRank}
	if err := f.open(cfg); err != nil {
		return nil, fmt.Errorf("output: %w", errors.Join(err, lock.Release()))
	}
	return f, nil
}

// open writes the run file and opens the record.
func (f *Folder) open(cfg configs.Config) (err error) {
	if err := f.Keep(cfg); err != nil {
		return err
	}
	f.events, f.count, err = openEvents(f.Path(record.EventsFile))
	return err
}

// Keep writes the run file, in place of one that is there.
func (f *Folder) Keep(cfg configs.Config) error {
	if err := f.keepStart(&cfg); err != nil {
		return err
	}
	text := cfg.WithoutSecrets().YAML()
	there, err := safefile.Read(f.Path(RunFile), math.MaxInt64-1)
	if err != nil || !bytes.Equal(there, text) { // a run that goes on may find its disk full
		return safefile.Write(f.Path(RunFile), text, Readable)
	}
	return nil
}

// keepStart copies the model that the run starts from. The run file of the folder then repeats the run without the
// original. The configuration gets the name of the copy, relative to the folder.
func (f *Folder) keepStart(cfg *configs.Config) error {
	from, to := cfg.Train.From, f.Path(configs.StartFile)
	if from == "" {
		return nil
	}
	cfg.Train.From = configs.StartFile
	if absolute, err := filepath.Abs(to); err == nil && absolute == from {
		return nil // a run that resumes from its folder
	}
	source, err := safefile.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := safefile.New(to, Readable)
	if err != nil {
		return err
	}
	defer file.Cleanup()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, sum), source); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != cfg.Train.FromHash {
		return fmt.Errorf("%s: the file has changed since it was first read: start again", from)
	}
	return file.Commit()
}

// SetOwner makes the folder that of one peer: only its steps show that the run has begun.
func (f *Folder) SetOwner(rank int) { f.own = rank }

// Mark writes the owner, a peer, into a folder that this process has made.
func (f *Folder) Mark(id string) error {
	if !f.fresh {
		return nil
	}
	if err := safefile.Write(f.Path(peerIDName), []byte(id+"\n"), Readable); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// openEvents opens a record to append to, and counts its events. It removes the partial line that a killed process may
// have left.
func openEvents(path string) (events *os.File, count int, err error) {
	text, err := safefile.Read(path, math.MaxInt64-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	if events, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return nil, 0, err
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		if err := events.Truncate(int64(whole)); err != nil {
			return nil, 0, errors.Join(err, events.Close())
		}
	}
	return events, bytes.Count(text, []byte{'\n'}), nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// ModelPath returns where the final model of a rank is written.
func (f *Folder) ModelPath(rank int) string { return ModelPath(f.Dir, rank) }

// Leave keeps the record in memory, after the disk was full, until more than a number of bytes are free. The peers need
// these bytes to write their models and states.
func (f *Folder) Leave(bytes int64) { f.leave = bytes }

// yields reports whether the record waits for the sake of the peers.
func (f *Folder) yields() bool {
	if !f.refused || f.waiting.Len() > MostWaiting {
		return false
	}
	free, known := machine.FreeBytes(f.Dir)
	return known && free < f.leave+int64(f.waiting.Len())
}

// Add appends an event to the record, which is complete up to its last event even if the process is killed. Events wait
// in memory while the disk is full. It returns an error once, when the first event has to wait.
func (f *Folder) Add(e record.Event) error {
	f.trained = f.trained || e.Step != nil && (f.own == everyRank || e.Step.Rank == f.own) || e.Final != nil
	if f.err != nil {
		return nil
	}
	waits := f.waiting.Len() > 0
	if record.Write(&f.waiting, e) != nil {
		return nil // not a number: no record has it
	}
	f.count++
	if f.yields() {
		return nil
	}
	err := f.flush()
	if f.waiting.Len() > MostWaiting {
		f.err = err
	}
	if waits {
		return nil
	}
	return err
}

// Sync returns the number of events of the record once all of them are on disk.
func (f *Folder) Sync() (int, error) {
	err := f.err
	if err == nil {
		err = f.flush()
	}
	if err == nil {
		err = f.events.Sync()
	}
	if err != nil {
		return 0, err
	}
	return f.count, nil
}

// Rewind returns the record to its first events for which drop is false, and removes all others. The record is the old
// or the new one, even if the process is killed, and the same Rewind of the new one changes nothing.
func (f *Folder) Rewind(count int, drop func(record.Event) bool) ([]record.Event, error) {
	path := f.Path(record.EventsFile)
	events, rest, err := first(path, count, drop)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := f.replace(rest); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	_ = f.events.Close() // nothing was written to it
	f.trained = count > 0
	if f.events, f.count, err = openEvents(path); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return events, nil
}

// WriteBelow writes a file that others may read, and the folders above it. It replaces an older file only when it is
// complete.
func WriteBelow(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return safefile.Write(path, content, Readable)
}

// replace gives the record a shorter text. Most often that is its beginning, which needs no room on a full disk.
func (f *Folder) replace(text []byte) error {
	path := f.Path(record.EventsFile)
	old, err := safefile.Read(path, math.MaxInt64-1)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(old, text) {
		return f.events.Truncate(int64(len(text)))
	}
	return safefile.Write(path, text, Readable)
}

// first returns the first events of a record for which drop is false, also as the text of a record.
func first(path string, count int, drop func(record.Event) bool) (events []record.Event, text []byte, err error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	var to bytes.Buffer
	for e, err := range record.Scan(file) {
		if len(events) == count {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if drop(e) {
			continue
		}
		if err := record.Write(&to, e); err != nil {
			return nil, nil, err
		}
		events = append(events, e)
	}
	if len(events) < count {
		return nil, nil, fmt.Errorf("%s: %d events, its checkpoint has seen %d: start again", path, len(events), count)
	}
	return events, to.Bytes(), nil
}

// DropSim removes the checkpoints of a simulation, which has finished.
func (f *Folder) DropSim(cfg configs.Config) error {
	if err := checkpoint.Clear(SimFolder(cfg, f.Dir)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	_ = os.Remove(f.Path(Checkpoints)) // unless something else is there
	return nil
}

// Pending returns about how many bytes Finish must write.
func (f *Folder) Pending() int64 {
	const summary = 4 << 10
	return int64(f.waiting.Len()) + summary
}

// flush writes the waiting events.
func (f *Folder) flush() error {
	_, err := f.waiting.WriteTo(f.events)
	f.refused = machine.IsFull(err)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// Finish writes the summary and ends the record.
func (f *Folder) Finish(s record.Summary) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("output: summary: %w", err)
	}
	if err := safefile.Write(f.Path(record.SummaryFile), append(text, '\n'), Readable); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if f.err != nil {
		return f.err
	}
	return f.flush()
}

// Close ends the record. Finish reports earlier errors.
func (f *Folder) Close() {
	_ = f.flush()
	_ = f.events.Close()
	_ = f.lock.Release()
}

// Drop removes a folder that this process has made, if no peer has trained in it.
func (f *Folder) Drop() error {
	if !f.fresh || f.trained {
		return nil
	}
	return os.RemoveAll(f.Dir)
}
