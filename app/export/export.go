// Package export writes the record of a run for other tools: event files of TensorBoard, CSV, JSON lines, and the
// folders of Weights & Biases.
//
// It reads one event at a time, so its memory does not grow with the record. It trains nothing and prints nothing.
package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// About and Example explain the command.
const (
	About = `write the curves of a run for TensorBoard, CSV, JSON lines or W&B

FOLDER is that of a run in any state, or of a comparison, whose cells are
runs. Each worker has its curves, and so has the
average of all. Rounds are the steps. The record itself is not changed, and an
export appears whole or not at all.

  tensorboard   a log folder with event files (default: FOLDER/tensorboard)
  csv           a table with a line per worker and round (FOLDER/scalars.csv)
  jsonl         the same as an object per line (FOLDER/scalars.jsonl)
  wandb         folders in the layout of Weights & Biases (FOLDER/wandb)`
	Example = `  peer export runs/ring8-20261121-100500 --to tensorboard
  peer export fig1 --to csv -o fig1.csv
  peer export fig1 --to jsonl --json`
)

// A target is a form of export.
type target struct {
	name string
	file string                         // of the output in the run folder, unless the user names another
	open func(dir string) (sink, error) // begins the output at a path that is free
	next string                         // what reads it; %s: the output
}

// targets are the forms, the usual one first.
func targets() []target {
	return []target{
		{"tensorboard", "tensorboard", openTensorBoard, "tensorboard --logdir %s"},
		{"csv", "scalars.csv", openCSV, ""},
		{"jsonl", "scalars.jsonl", openJSONLines, ""},
		{"wandb", "wandb", openWandB, "wandb sync --sync-tensorboard %s/*"},
	}
}

// Targets returns the names of the forms.
func Targets() []string {
	var names []string
	for _, t := range targets() {
		names = append(names, t.name)
	}
	return names
}

// A sink takes the rows of runs, one run after the other.
type sink interface {
	write(s *source, r *row) error
	end() error   // of a run
	close() error // of the output
}

// A source is a run that is exported.
type source struct {
	runfolder.Place
	began   time.Time
	workers int             // that have records
	length  int64           // of the record when the export began
	summary *record.Summary // nil of a run that has not ended
	in      *reading
}

// wall returns the time of a row in seconds since 1970.
func (s *source) wall(r *row) float64 {
	return float64(s.began.UnixNano())/1e9 + r.time.Seconds()
}

// A Result describes an export.
type Result struct {
	To         string   `json:"to"`
	Path       string   `json:"path"`
	Runs       int      `json:"runs"`
	Workers    int      `json:"workers"` // of all runs, without averages
	Rows       int      `json:"rows"`    // a row has the values of one worker, or of the average, at one round
	Unfinished []string `json:"unfinished"`
	next       string
}

// Next returns the command that reads the output, "" where any tool does.
func (r *Result) Next() string { return r.next }

// Write prints the result for people.
func (r *Result) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s\n", r.Path, human.Count(r.Runs, "run"), human.Count(r.Workers, "worker"),
		human.Count(r.Rows, "row"))
	for _, name := range r.Unfinished {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s has not ended: exported as far as its record goes\n", name)
		}
	}
	return err
}

// Export writes the runs of a folder in a form to a path, which must be free. An empty path is that of the form in the
// folder. The output appears whole or not at all. watch hears how many bytes of the records have been read, of which
// each
// is read twice.
func Export(dir, to, output string, watch func(done, all int64)) (*Result, error) {
	form, err := find(to)
	if err != nil {
		return nil, err
	}
	sources, err := sourcesIn(dir, &reading{watch: watch})
	if err != nil {
		return nil, err
	}
	if output == "" {
		output = filepath.Join(dir, form.file)
	}
	if _, err := os.Lstat(output); err == nil {
		return nil, advice.Usage(fmt.Errorf("export: %s exists already", output),
			"remove it, or name another place: -o PATH")
	}
	result := &Result{To: to, Path: output, Runs: len(sources), Unfinished: []string{}}
	if form.next != "" {
		result.next = fmt.Sprintf(form.next, advice.Command(output))
	}
	if err := result.into(form, sources, output); err != nil {
		return nil, explained(err, output)
	}
	return result, nil
}

func find(to string) (target, error) {
	for _, t := range targets() {
		if t.name == to {
			return t, nil
		}
	}
	if to == "" {
		return target{}, advice.Usagef("export: --to is missing: want one of %s", strings.Join(Targets(), ", "))
	}
	return target{}, advice.OneOf("export: --to", to, Targets())
}

// sourcesIn returns the runs of a folder with a first look at their records, which finds every error in them.
func sourcesIn(dir string, in *reading) ([]*source, error) {
	places, kind, err := runfolder.Below(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usage(fmt.Errorf("export: there is no folder %s", dir), "peer runs lists the runs")
	case err != nil:
		return nil, fmt.Errorf("export: %w", err)
	case len(places) == 0:
		return nil, advice.Usage(fmt.Errorf("export: %s is not the folder of a run or of a comparison", dir),
			"peer lab prints the folder of its run, and peer runs lists those of output.dir")
	case kind == runfolder.Several:
		return nil, advice.Usage(fmt.Errorf("export: %s holds %s: name one of them", dir, human.Count(len(places), "run")),
			"peer export "+advice.Command(places[len(places)-1].Dir))
	}
	return look(dir, places, in)
}

// look returns the sources at some places of a folder. Without any record there is nothing to export.
func look(dir string, places []runfolder.Place, in *reading) ([]*source, error) {
	all, workers := make([]*source, len(places)), 0
	for i, place := range places {
		all[i] = &source{Place: place, in: in}
		info, err := os.Stat(all[i].record())
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		all[i].length = info.Size()
		in.all += 2 * info.Size() // a look, and the export
	}
	for _, s := range all {
		if err := s.look(); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		workers += s.workers
	}
	if workers == 0 {
		return nil, advice.Usage(fmt.Errorf("export: the run in %s has no steps yet", dir),
			"a run records a step of each worker every output.every rounds")
	}
	return all, nil
}

// look finds every error in the record.
func (s *source) look() (err error) {
	if s.began, err = runfolder.Began(s.Dir); err != nil {
		return err
	}
	if s.summary, err = record.OpenSummary(s.Dir); err != nil {
		return err
	}
	ranks := map[int]bool{}
	if err := s.scan(func(e record.Event) error {
		switch {
		case e.Step != nil:
			ranks[e.Step.Rank] = true
		case e.Final != nil:
			ranks[e.Final.Rank] = true
		}
		return nil
	}); err != nil {
		return err
	}
	s.workers = len(ranks)
	return nil
}

// record returns the path of the record.
func (s *source) record() string { return filepath.Join(s.Dir, record.EventsFile) }

// scan calls see for every event. Events that came after the first look at the length are left out.
func (s *source) scan(see func(record.Event) error) error {
	f, err := safefile.Open(s.record())
	if err != nil {
		return err
	}
	defer f.Close()
	for e, err := range record.Scan(io.TeeReader(io.LimitReader(f, s.length), s.in)) {
		if err != nil {
			return advice.With(fmt.Errorf("%s: %w", s.record(), err),
				"the record is damaged: a copy of the folder without this line can be exported")
		}
		if err := see(e); err != nil {
			return err
		}
	}
	return nil
}

// A reading counts the bytes that are read of all records.
type reading struct {
	done, all int64
	watch     func(done, all int64)
}

// Write implements io.Writer.
func (r *reading) Write(p []byte) (int, error) {
	r.done += int64(len(p))
	r.watch(r.done, r.all)
	return len(p), nil
}

// into writes the sources to a draft, and renames it when it is complete.
func (r *Result) into(form target, sources []*source, output string) (err error) {
	if err := os.MkdirAll(filepath.Dir(output), 0o777); err != nil {
		return err
	}
	room, err := os.MkdirTemp(filepath.Dir(output), ".export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	draft := filepath.Join(room, "draft")
	out, err := form.open(draft)
	if err != nil {
		return err
	}
	for _, s := range sources {
		r.Workers += s.workers
		if s.summary == nil {
			r.Unfinished = append(r.Unfinished, s.Name)
		}
		if err := r.run(out, s); err != nil {
			return errors.Join(err, out.close())
		}
	}
	if err := out.close(); err != nil {
		return err
	}
	return os.Rename(draft, output)
}

// run writes one run.
func (r *Result) run(out sink, s *source) error {
	all := newAverage(s.workers)
	write := func(rows ...row) error {
		for i := range rows {
			if rows[i].empty() {
				continue
			}
			if err := out.write(s, &rows[i]); err != nil {
				return err
			}
			r.Rows++
		}
		return nil
	}
	if err := s.scan(func(e record.Event) error { return write(all.see(e)...) }); err != nil {
		return err
	}
	rest := all.end()
	if s.summary != nil {
		rest = append(rest, summaryRow(s.summary))
	}
	if err := write(rest...); err != nil {
		return err
	}
	return out.end()
}

// explained adds to an error what to do about it.
func explained(err error, output string) error {
	if machine.IsFull(err) {
		return advice.With(fmt.Errorf("export: no room for %s: %w", output, err),
			"make room, or name a place on a disk with more: -o PATH")
	}
	return fmt.Errorf("export: %w", err)
}
