package runfolder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// About texts and examples explain the commands.
const (
	About = `list past and present runs, newest first

FOLDER holds runs, or is a comparison, whose cells are listed; without it, it is
output.dir. A run is running while a process has its folder, finished once it
has a summary, and else stopped: "--resume" may go on with it. The files of a
damaged run cannot be read. Loss and accuracy are those on the test set.`
	Example = `  peer runs
  peer runs --filter algorithm.bits=8 --filter topology.kind=ring
  peer runs fig1 --json`
	AboutCompare = "print the settings and the results in which two runs differ"
	AboutPrune   = `remove old runs

Without names it removes finished runs of FOLDER, or of output.dir: all but the
newest (--keep), those that began long ago (--older-than), or those beyond both
bounds. A stopped or damaged run is removed only by name, a running one never.
It says what it frees, and asks.`
	ExamplePrune = `  peer runs prune --keep 20
  peer runs prune old-runs --older-than 30d --yes
  peer runs prune runs/ring8-20261121-100500`
)

// A State says how a run stands.
type State string

// The states of a run.
const (
	Finished State = "finished" // it has a summary
	Running  State = "running"  // a process has its folder
	Stopped  State = "stopped"  // neither
	Damaged  State = "damaged"  // its summary or its record cannot be read
)

// A Standing says how a run stands.
type Standing struct {
	State State  `json:"state"`
	Error string `json:"error,omitempty"` // why its files cannot be read
}

// A Run is a past or present run, from its folder. Values are of the summary, or of the last records without one.
type Run struct {
	Name  string    `json:"name"`
	Dir   string    `json:"folder"`
	Began time.Time `json:"began"`
	Standing
	Method    string   `json:"method"` // "" where the run file cannot be read, as of another version
	Bits      int      `json:"bits"`   // per parameter; 0: unknown
	Graph     string   `json:"graph"`
	Workers   int      `json:"workers"`
	Rounds    int      `json:"rounds"`     // finished, of the worker with the fewest
	Of        int      `json:"rounds_of"`  // of the run file
	TrainLoss *float64 `json:"train_loss"` // mean over the workers of the last records
	Loss      *float64 `json:"loss"`       // on the test set
	Accuracy  *float64 `json:"accuracy"`
	Sent      int64    `json:"sent_bytes"` // on the wire, mean over the workers

	files files
}

// files are the contents of the files of a run.
type files struct {
	settings map[string]string // of the run file, in YAML; nil: it cannot be read
	summary  *record.Summary   // nil: there is none
}

// A List is the runs of a folder, the newest first.
type List struct {
	Folder string `json:"folder"`
	Runs   []Run  `json:"runs"`
}

// OutputDir returns the folder of runs where the user names none.
func OutputDir() (string, error) {
	loaded, err := configs.Load(configs.Source{Env: os.Environ()})
	if err != nil {
		return "", err
	}
	return loaded.Config.Output.Dir, nil
}

// RunsIn lists the runs of a folder, or of output.dir if it is empty, that pass the filters. A filter is key=value with
// a key of run files. watch hears how many runs have been read.
func RunsIn(folder string, filters []string, watch func(done, all int64)) (*List, error) {
	pass, err := parseFilters(filters)
	if err != nil {
		return nil, err
	}
	standard := folder == ""
	if standard {
		if folder, err = OutputDir(); err != nil {
			return nil, err
		}
	}
	places, _, err := Below(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && standard:
		return &List{folder, []Run{}}, nil // nothing has been run yet
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usage(fmt.Errorf("runs: there is no folder %s", folder), "without one it is output.dir")
	case err != nil:
		return nil, fmt.Errorf("runs: %w", err)
	}
	list := &List{folder, []Run{}}
	for i, place := range places {
		run := ReadRun(place)
		watch(int64(i+1), int64(len(places)))
		if !slices.ContainsFunc(pass, func(f filter) bool { return !f.fits(run.files.settings) }) {
			list.Runs = append(list.Runs, run)
		}
	}
	slices.SortStableFunc(list.Runs, func(a, b Run) int {
		return cmp.Or(b.Began.Compare(a.Began), strings.Compare(b.Name, a.Name))
	})
	return list, nil
}

// openNamed reads the run in a folder, or of that name in output.dir. It may be damaged.
func openNamed(name string) (Run, error) {
	dirs := []string{name}
	if filepath.Base(name) == name {
		if standard, err := OutputDir(); err == nil {
			dirs = append(dirs, filepath.Join(standard, name))
		}
	}
	for _, dir := range dirs {
		if places, kind, err := Below(dir); err == nil && kind == OneRun {
			return ReadRun(places[0]), nil
		}
	}
	return Run{}, advice.Usage(fmt.Errorf("runs: %s is not the folder of a run", name), "peer runs lists the runs")
}

// ReadRun looks at the folder of a run: at most the end of its record. One that cannot be read has an Error, and does
// not keep the others from being listed.
func ReadRun(place Place) Run {
	r := Run{Name: place.Name, Dir: place.Dir, Standing: Standing{State: Stopped}}
	if err := r.read(); err != nil {
		r.Error = err.Error()
		if r.State != Running {
			r.State = Damaged
		}
	}
	return r
}

func (r *Run) read() error {
	held, err := InUse(r.Dir)
	if err != nil {
		return err
	}
	if held {
		r.State = Running
	}
	if r.Began, err = Began(r.Dir); err != nil {
		return err
	}
	if file := filepath.Join(r.Dir, RunFile); safefile.Check(file) == nil {
		if loaded, err := configs.Load(configs.Source{File: file}); err == nil {
			r.describe(loaded.Config)
		}
	}
	if r.files.summary, err = record.OpenSummary(r.Dir); err != nil {
		return err
	}
	if r.files.summary == nil || held {
		return r.look()
	}
	r.State = Finished
	r.conclude(r.files.summary)
	return nil
}

// describe takes the settings of the run file.
func (r *Run) describe(cfg configs.Config) {
	r.files.settings = cfg.Settings()
	r.Method, r.Graph, r.Workers = cfg.Method().String(), cfg.Topology.Kind, cfg.Topology.Size
	r.Of = cfg.Train.Rounds.Known()
}

// conclude takes the results of a finished run.
func (r *Run) conclude(s *record.Summary) {
	r.Method = cmp.Or(r.Method, s.Method)
	r.Graph = cmp.Or(r.Graph, s.Graph)
	r.Bits, r.Workers, r.Rounds = s.Bits, s.Peers, s.Rounds
	r.TrainLoss, r.Loss, r.Accuracy = s.TrainLoss, s.Loss, s.Accuracy.Mean
	r.Sent = s.BytesPerPeer.Wire
}

// lastBytes bounds the end of a record that is read for a run without a summary.
const lastBytes = 256 << 10

// look takes the last records of a run that has not ended.
func (r *Run) look() error {
	f, err := safefile.Open(filepath.Join(r.Dir, record.EventsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-lastBytes)
	tail := io.NewSectionReader(f, from, info.Size()-from)
	if from > 0 {
		if err := skipLine(tail); err != nil {
			return err
		}
	}
	pace, score := record.Pace{}, (*record.Score)(nil)
	for e, err := range record.Scan(tail) {
		if err != nil {
			return fmt.Errorf("%s: near its end: %w", f.Name(), err)
		}
		pace.See(e)
		if s := e.Score; s != nil && (score == nil || s.Rank == record.Average || score.Rank != record.Average) {
			score = s
		}
	}
	r.take(pace.Last(), score)
	return nil
}

// skipLine moves behind the end of a line.
func skipLine(in io.Reader) error {
	one := make([]byte, 1)
	for one[0] != '\n' {
		if _, err := in.Read(one); err != nil {
			return err
		}
	}
	return nil
}

// take sums up the last steps of the workers, and their last score.
func (r *Run) take(steps []*record.Step, score *record.Score) {
	if score != nil {
		r.Loss, r.Accuracy = record.Number(score.Loss), record.Number(score.Accuracy)
	}
	if len(steps) == 0 {
		return
	}
	r.Workers = max(r.Workers, len(steps))
	r.Rounds = steps[0].Round
	for _, s := range steps {
		r.Sent += s.Sent.Wire
		r.Bits = max(r.Bits, s.Bits)
		r.Rounds = min(r.Rounds, s.Round)
	}
	r.Sent /= int64(len(steps))
	r.TrainLoss = record.Number(record.MeanLoss(steps))
}
