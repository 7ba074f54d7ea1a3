package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// version is the version of a checkpoint's layout and of the names in a state.
const version = 2

// A Manifest identifies the run, worker and round of a checkpoint.
type Manifest struct {
	Run      string    `json:"run"`  // name of the run
	Rank     int       `json:"rank"` // of the worker
	Round    int       `json:"round"`
	Settings []Section `json:"settings"` // those that the state depends on
}

// A Section is a part of a run file.
type Section struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"values"` // canonical: keys sorted, no white space
}

// A document is the content of a manifest.
type document struct {
	Version int `json:"version"` // of the names and their meaning; the envelope stays the same
	Manifest
	State   file  `json:"state"`
	Workers *file `json:"workers,omitempty"` // of a simulation
}

// An envelope is a manifest with the checksum of its document.
type envelope struct {
	SHA256     string          `json:"sha256"` // of the text of the document, hexadecimal
	Checkpoint json.RawMessage `json:"checkpoint"`
}

// A file is the size and checksum that a file must have.
type file struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// maxManifest is the largest manifest that is read, in bytes. Run files with long lists of
// edges make the largest.
const maxManifest = 16 << 20

// encode returns the text of a manifest.
func (d document) encode() ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(envelope{digest(text), text})
	return append(text, '\n'), err
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// errVersion says that a manifest has another version than this program's.
var errVersion = errors.New("another version")

// readDocument reads a manifest of at most maxManifest bytes from r.
func readDocument(r io.Reader) (document, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	switch {
	case err != nil:
		return document{}, err
	case len(text) > maxManifest:
		return document{}, fmt.Errorf("more than %d bytes", maxManifest)
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return document{}, err
	}
	if got := digest(e.Checkpoint); got != e.SHA256 {
		return document{}, fmt.Errorf("its SHA-256 is %s, want %s", got, e.SHA256)
	}
	var d document
	if err := json.Unmarshal(e.Checkpoint, &d); err != nil || d.Version != version {
		return document{Version: d.Version}, fmt.Errorf("%w: %d, this program writes %d", errVersion, d.Version, version)
	}
	if !d.State.sound() || d.Workers != nil && !d.Workers.sound() || d.Round < 0 || d.Rank < 0 {
		return document{}, errors.New("a round, rank, size or checksum is out of range")
	}
	return d, nil
}

// sound reports whether a file may have the size and checksum.
func (f *file) sound() bool {
	hash, err := hex.DecodeString(f.SHA256)
	return err == nil && len(hash) == sha256.Size && f.Bytes >= 0
}
