package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// OpenRecord reads the run of a folder and checks its record against its run file. A run file that this version cannot
// assemble sets no bounds.
func OpenRecord(dir string) (*record.Run, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, RunFile)
	if safefile.Check(file) != nil {
		return run, nil
	}
	loaded, err := configs.Load(configs.Source{File: file})
	if err != nil {
		return run, nil
	}
	of, err := experiment.New(loaded.Config)
	if err != nil {
		return run, nil
	}
	return run, run.Within(Limits(of))
}

// mostIDs bounds the ids of members that come and go, to find damage.
const mostIDs = 1 << 20

// Limits bounds the record of a run. A fast worker does steps of slow ones if all workers share a number of steps.
func Limits(run *experiment.Run) record.Limits {
	l := record.Limits{Peers: run.N(), Rounds: int(run.Config().Train.Rounds)}
	if cfg := run.Config(); cfg.Views() { // the record names members by id, and ids have no bound
		l.Peers = mostIDs
	}
	if run.Method().Asynchronous() {
		l.Rounds *= run.N()
	}
	return l
}

// OpenRecords is OpenRecord for several folders.
func OpenRecords(dirs []string) ([]*record.Run, error) {
	runs := make([]*record.Run, len(dirs))
	for i, dir := range dirs {
		run, err := OpenRecord(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, advice.Usage(err, "peer lab prints the folder of its run")
		}
		if err != nil {
			return nil, err
		}
		runs[i] = run
	}
	return runs, nil
}

// Newest returns the run folder below dir whose record was written last, and how many there are.
func Newest(dir string) (newest string, of int, err error) {
	records, err := filepath.Glob(filepath.Join(dir, "*", record.EventsFile))
	if err != nil {
		return "", 0, advice.Usagef("report: output.dir %q: %w", dir, err)
	}
	latest := time.Time{}
	for _, file := range records { // in the order of their names
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(latest) {
			newest, latest = filepath.Dir(file), info.ModTime()
		}
	}
	if newest == "" {
		return "", 0, advice.Usage(fmt.Errorf("report: there is no run in %s", dir),
			"name the folder of a run, or train one: peer lab")
	}
	return newest, len(records), nil
}
