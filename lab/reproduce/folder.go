package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/safefile"
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

// readMarker says what the folder of a reproduction holds. The error is fs.ErrNotExist if dir is no such folder.
func readMarker(dir string) (m marker, err error) {
	path := filepath.Join(dir, MarkerFile)
	text, err := safefile.Read(path, maxMarker)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("reproduce: %s: %w", path, err)
	}
	return m, nil
}

// claim makes the folder of a reproduction, or finds it. It refuses a folder of another reproduction, and one with
// other files.
func claim(dir string, m marker) error {
	there, err := readMarker(dir)
	switch {
	case err == nil && there != m:
		return advice.Usage(fmt.Errorf("reproduce: %s holds %s at size %s", dir, there.Name, there.Size),
			"choose another folder with -o")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
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
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	if err := safefile.Write(filepath.Join(dir, MarkerFile), append(text, '\n'), runfolder.Readable); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}
