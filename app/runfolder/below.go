package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// A Place is the folder of a run, with a name for people.
type Place struct {
	Name string // of the folder; in a comparison of its cell
	Dir  string
}

// A Kind says what a folder holds.
type Kind int

// The kinds of folders.
const (
	OneRun  Kind = iota
	Cells        // a comparison, whose cells are runs
	Several      // folders of runs
)

// Below returns the runs of a folder in the order of their names: the run that it is, the cells of a comparison, or the
// runs in it. A folder without runs has none.
func Below(dir string) ([]Place, Kind, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, Several, err
	}
	if safefile.Check(filepath.Join(dir, record.EventsFile)) == nil {
		return []Place{{filepath.Base(absolute(dir)), dir}}, OneRun, nil
	}
	kind, pattern := Several, "*/"+record.EventsFile
	if info, err := os.Stat(filepath.Join(dir, cells.CellsFolder)); err == nil && info.IsDir() {
		kind, pattern = Cells, cells.CellsFolder+"/*/*/"+record.EventsFile
	}
	records, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return nil, kind, fmt.Errorf("%s: %w", dir, err)
	}
	var all []Place
	for _, file := range records {
		of := path.Dir(file)
		at := Place{Name: path.Base(of), Dir: filepath.Join(dir, filepath.FromSlash(of))}
		if safefile.Check(filepath.Join(at.Dir, record.EventsFile)) != nil {
			continue
		}
		if kind == Cells {
			at.Name = path.Base(path.Dir(of))
		}
		if n := len(all); n > 0 && all[n-1].Name == at.Name {
			at.Name += "-" + path.Base(of) // a cell that was begun twice
		}
		all = append(all, at)
	}
	return all, kind, nil
}

// absolute returns the whole path of a folder, whose last element is a name.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

// stampLayout is the time in the name of a run folder.
const stampLayout = "20060102-150405"

var stamped = regexp.MustCompile(`-(\d{8}-\d{6})(?:-\d+)?$`)

// Began returns when a run began: as the name of its folder says, else when its run file was written.
func Began(dir string) (time.Time, error) {
	if m := stamped.FindStringSubmatch(filepath.Base(absolute(dir))); m != nil {
		if at, err := time.Parse(stampLayout, m[1]); err == nil {
			return at, nil
		}
	}
	for _, name := range []string{RunFile, record.EventsFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			return info.ModTime().UTC(), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return time.Time{}, err
		}
	}
	return time.Time{}, fmt.Errorf("%s: no run file and no record: %w", dir, fs.ErrNotExist)
}
