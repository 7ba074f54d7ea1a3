package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

// EventsFile and SummaryFile are the names of the record and the summary in the folder of a run.
const (
	EventsFile  = "events.jsonl"
	SummaryFile = "summary.json"
)

// Bounds of the files that are read, in bytes.
const (
	maxLine    = 1 << 20 // one line of a record
	MaxSummary = 64 << 20
)

// Write appends event e to w as one line.
func Write(w io.Writer, e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("record: an event: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("record: write an event: %w", err)
	}
	return nil
}

// Read returns the events of a record. It drops a last line without its end, which a killed process leaves. Any other
// line that does not parse, or that has a number outside the bounds of every run, is an error that names the line.
func Read(r io.Reader) ([]Event, error) {
	events, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return events, nil
}

func read(r io.Reader) ([]Event, error) {
	var events []Event
	for e, err := range Scan(r) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// Scan returns the events of a record one after the other, as Read does, in memory that does not grow with the record.
// An error is the last pair.
func Scan(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var line []byte
		for n := 1; ; n++ {
			e, next, err := scanLine(in, line[:0])
			switch line = next; {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Event{}, fmt.Errorf("line %d: %w", n, err))
				return
			case !yield(e, nil):
				return
			}
		}
	}
}

// scanLine reads an event. It returns its line in the memory of buffer, or in more. The error is io.EOF at the end.
func scanLine(in *bufio.Reader, buffer []byte) (e Event, line []byte, err error) {
	piece, err := in.ReadSlice('\n')
	line = append(buffer, piece...)
	for errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine {
		piece, err = in.ReadSlice('\n')
		line = append(line, piece...)
	}
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	if err == nil {
		err = anyRun().Check(e)
	}
	return e, line, err
}

// A Run is the folder of a finished or running run, read back.
type Run struct {
	Dir     string
	Events  []Event
	Summary *Summary // nil before there is one
}

// Open reads the run in folder dir.
func Open(dir string) (*Run, error) {
	path := filepath.Join(dir, EventsFile)
	f, err := safefile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("record: %s is not a run folder: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	defer f.Close()
	run := &Run{Dir: dir}
	if run.Events, err = read(f); err != nil {
		return nil, fmt.Errorf("record: %s: %w", path, err)
	}
	if run.Summary, err = OpenSummary(dir); err != nil {
		return nil, err
	}
	return run, nil
}

// OpenSummary reads the summary of the run in folder dir. It is nil before there is one.
func OpenSummary(dir string) (*Summary, error) {
	path := filepath.Join(dir, SummaryFile)
	text, err := safefile.Read(path, MaxSummary)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	s := new(Summary)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("record: %s: %w", path, err)
	}
	if s.Method == "" { // of an older version
		s.Method = fmt.Sprintf("%s, %d bit", s.Algorithm, s.Bits)
	}
	return s, nil
}

// Within returns an error with the file and the line of the first number that a run of these limits cannot have.
func (r *Run) Within(l Limits) error {
	for i, e := range r.Events { // one event per line
		if err := l.Check(e); err != nil {
			return fmt.Errorf("record: %s: line %d: %w", filepath.Join(r.Dir, EventsFile), i+1, err)
		}
	}
	return nil
}

// MarshalJSON writes a Step with null for a loss that nothing has told. It refuses an infinite one.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	var loss *float64
	if !math.IsNaN(s.Loss) {
		loss = &s.Loss
	}
	return json.Marshal(struct {
		plain
		Loss *float64 `json:"loss"`
	}{plain(s), loss})
}

// UnmarshalJSON reads a Step; null becomes NaN.
func (s *Step) UnmarshalJSON(text []byte) error {
	type plain Step
	s.Loss = math.NaN() // null leaves it as it is
	return json.Unmarshal(text, (*plain)(s))
}

// MarshalJSON writes a Final with null for a loss or an accuracy that has no meaning.
func (f Final) MarshalJSON() ([]byte, error) {
	type plain Final
	return json.Marshal(struct {
		plain
		Loss     *float64 `json:"loss"`
		Accuracy *float64 `json:"accuracy"`
	}{plain(f), Number(f.Loss), Number(f.Accuracy)})
}

// UnmarshalJSON reads a Final; null becomes NaN.
func (f *Final) UnmarshalJSON(text []byte) error {
	type plain Final
	f.Loss, f.Accuracy = math.NaN(), math.NaN() // null leaves them as they are
	return json.Unmarshal(text, (*plain)(f))
}

// MarshalJSON writes a Score with null for a loss or an accuracy that has no meaning.
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
	s.Loss, s.Accuracy = math.NaN(), math.NaN() // null leaves them as they are
	return json.Unmarshal(text, (*plain)(s))
}

// Number returns v as a number of JSON. NaN and infinities are nil, which JSON writes as null.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
