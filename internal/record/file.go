package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"gossiptrainer/internal/regular"
)

// EventsFile and SummaryFile are the names of a run's record and summary in
// its folder.
const (
	EventsFile  = "events.jsonl"
	SummaryFile = "summary.json"
)

// Bounds of what is read.
const (
	maxLine    = 1 << 20 // bytes of one line of a record
	MaxSummary = 64 << 20
)

// Write appends event e to w as one line.
func Write(w io.Writer, e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Read returns the events of a record. A last line without its end, as a
// process that was killed leaves it, is dropped; any other line that does not
// parse, or has a number that no run has, is an error naming the line.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		long := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine {
			line, err = in.ReadSlice('\n')
			long = append(long, line...)
		}
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("report: line %d: %w", n, err)
		}
		var e Event
		if err := json.Unmarshal(long, &e); err != nil {
			return nil, fmt.Errorf("report: line %d: %w", n, err)
		}
		if err := anyRun().check(e); err != nil {
			return nil, fmt.Errorf("report: line %d: %w", n, err)
		}
		events = append(events, e)
	}
}

// A Run is the folder of a finished or running run, read back.
type Run struct {
	Dir     string
	Events  []Event
	Summary *Summary // nil while there is none
}

// Open reads the run in folder dir.
func Open(dir string) (*Run, error) {
	f, err := regular.Open(filepath.Join(dir, EventsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("report: %s is no run folder: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	run := &Run{Dir: dir}
	if run.Events, err = Read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	text, err := regular.Read(filepath.Join(dir, SummaryFile), MaxSummary)
	if errors.Is(err, os.ErrNotExist) {
		return run, nil
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	run.Summary = new(Summary)
	if err := json.Unmarshal(text, run.Summary); err != nil {
		return nil, fmt.Errorf("report: %s: %w", filepath.Join(dir, SummaryFile), err)
	}
	return run, nil
}

// Within returns an error naming file and line where the record has a number that a
// run of these limits has not.
func (r *Run) Within(l Limits) error {
	for i, e := range r.Events { // one event per line
		if err := l.check(e); err != nil {
			return fmt.Errorf("%s: report: line %d: %w", filepath.Join(r.Dir, EventsFile), i+1, err)
		}
	}
	return nil
}

// MarshalJSON writes a Final with null for an accuracy that has no meaning.
func (f Final) MarshalJSON() ([]byte, error) {
	type plain Final
	return json.Marshal(struct {
		plain
		Accuracy *float64 `json:"accuracy"`
	}{plain(f), Number(f.Accuracy)})
}

// UnmarshalJSON reads a Final; null becomes NaN.
func (f *Final) UnmarshalJSON(text []byte) error {
	type plain Final
	both := struct {
		*plain
		Accuracy *float64 `json:"accuracy"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(text, &both); err != nil {
		return err
	}
	f.Accuracy = math.NaN()
	if both.Accuracy != nil {
		f.Accuracy = *both.Accuracy
	}
	return nil
}

// MarshalJSON writes a Score with null for what has no meaning.
func (s Score) MarshalJSON() ([]byte, error) {
	type plain Score
	return json.Marshal(struct {
		plain
		Loss     *float64 `json:"loss"`
		Accuracy *float64 `json:"accuracy"`
	}{plain(s), Number(s.Loss), Number(s.Accuracy)})
}

// UnmarshalJSON reads a Score; null becomes NaN.
func (s *Score) UnmarshalJSON(text []byte) error {
	type plain Score
	s.Loss, s.Accuracy = math.NaN(), math.NaN() // which null leaves
	return json.Unmarshal(text, (*plain)(s))
}

// Number returns v as the JSON of a record knows numbers: nil, which becomes
// null, for NaN and infinities.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
