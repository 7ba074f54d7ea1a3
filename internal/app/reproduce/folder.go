package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/regular"
)

// MarkerFile says what a folder reproduces.
const MarkerFile = "reproduce.json"

// maxMarker bounds its size in bytes.
const maxMarker = 1 << 10

// A marker is the content of the file.
type marker struct {
	Name string `json:"name"`
	Size string `json:"size"`
}

// claim makes the folder of a reproduction, or finds it. It refuses a folder of another reproduction, and one with
// other files.
func claim(dir string, m marker) error {
	path := filepath.Join(dir, MarkerFile)
	text, err := regular.Read(path, maxMarker)
	switch {
	case err == nil:
		return known(dir, text, m)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reproduce: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reproduce: %w", err)
	}
	if len(files) > 0 {
		return advice.Usage(fmt.Errorf("reproduce: %s holds %s, and no reproduction", dir, files[0].Name()),
			"choose a new folder with -o")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	if text, err = json.Marshal(m); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	if err := atomicfile.Write(path, append(text, '\n'), runfolder.Readable); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}

// known compares the marker of a folder with the one that is asked for.
func known(dir string, text []byte, want marker) error {
	var there marker
	if err := json.Unmarshal(text, &there); err != nil {
		return fmt.Errorf("reproduce: %s: %w", filepath.Join(dir, MarkerFile), err)
	}
	if there != want {
		return advice.Usage(fmt.Errorf("reproduce: %s holds %s at size %s", dir, there.Name, there.Size),
			"choose another folder with -o")
	}
	return nil
}
