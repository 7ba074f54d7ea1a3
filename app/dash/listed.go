package dash

import (
	"os"
	"path/filepath"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/record"
)

// A listed run has the state of its files when it was read.
type listed struct {
	runfolder.Run
	place runfolder.Place
	files [2]time.Time // of the record and the summary
}

// look reads what the list says about a run. It returns the old entry if its files have not changed, which is nil for a
// new run. It is nil if the files are of no run.
func look(place runfolder.Place, old *listed) *listed {
	var files [2]time.Time
	for i, name := range []string{record.EventsFile, record.SummaryFile} {
		if info, err := os.Stat(filepath.Join(place.Dir, name)); err == nil {
			files[i] = info.ModTime()
		}
	}
	if old != nil && old.files == files && old.State != runfolder.Running && old.place == place {
		return old
	}
	run := runfolder.ReadRun(place)
	if run.State == runfolder.Damaged {
		return nil
	}
	return &listed{Run: run, place: place, files: files}
}

// regularRunFile reports whether a folder is that of a run that has no record yet.
func regularRunFile(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, runfolder.RunFile))
	return err == nil && info.Mode().IsRegular()
}

// A Listed is a run of the list.
type Listed struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Began  time.Time `json:"began"`
	State  string    `json:"state"`
	Method string    `json:"method"`
	Graph  string    `json:"graph"`
	listedPlace
}

// listedPlace is how far a run is.
type listedPlace struct {
	Workers   int    `json:"workers"`
	Rounds    int    `json:"rounds"`
	Of        int    `json:"rounds_of"`
	TrainLoss figure `json:"train_loss"`
	Loss      figure `json:"loss"`
	Accuracy  figure `json:"accuracy"`
	Sent      int64  `json:"sent_bytes"`
}
