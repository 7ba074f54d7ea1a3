package export

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/internal/record"
)

// A csvFile is one table for all runs: a line per row, and an empty cell where there is no value.
type csvFile struct{ file *draft }

func openCSV(path string) (sink, error) {
	names := []string{"run", "worker", "round", "time_seconds", "time_utc"}
	for _, s := range scalars {
		names = append(names, s.name)
	}
	c := &csvFile{newDraft(path, 1)}
	return c, c.file.append(func(b []byte) []byte { return append(append(b, strings.Join(names, ",")...), '\n') })
}

func (c *csvFile) write(s *source, r *row) error {
	return c.file.append(func(b []byte) []byte {
		b = append(b, quoted(s.Name)...)
		b = append(append(b, ','), workerName(r.worker)...)
		b = strconv.AppendInt(append(b, ','), int64(r.round), 10)
		b = appendNumber(append(b, ','), r.time.Seconds())
		b = s.began.Add(r.time).UTC().AppendFormat(append(b, ','), time.RFC3339Nano)
		for _, v := range r.values {
			if b = append(b, ','); record.Number(v) != nil {
				b = appendNumber(b, v)
			}
		}
		return append(b, '\n')
	})
}

func (c *csvFile) end() error   { return nil }
func (c *csvFile) close() error { return c.file.flush() }

// quoted writes a cell as RFC 4180 says.
func quoted(text string) string {
	if !strings.ContainsAny(text, "\",\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// appendNumber appends the shortest form that reads back as v, and counts without an exponent.
func appendNumber(b []byte, v float64) []byte {
	const exact = 1 << 53 // integers below
	if v == math.Trunc(v) && math.Abs(v) < exact {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// A jsonFile has an object per row, with the values that there are.
type jsonFile struct{ file *draft }

func openJSONLines(path string) (sink, error) { return &jsonFile{newDraft(path, 1)}, nil }

func (j *jsonFile) write(s *source, r *row) error {
	name, err := json.Marshal(s.Name)
	if err != nil {
		return err
	}
	return j.file.append(func(b []byte) []byte {
		b = append(append(b, `{"run":`...), name...)
		b = append(append(append(b, `,"worker":"`...), workerName(r.worker)...), `","round":`...)
		b = strconv.AppendInt(b, int64(r.round), 10)
		b = appendNumber(append(b, `,"time_seconds":`...), r.time.Seconds())
		b = s.began.Add(r.time).UTC().AppendFormat(append(b, `,"time_utc":"`...), time.RFC3339Nano)
		return append(appendValues(append(b, '"'), r), "}\n"...)
	})
}

// appendValues appends the values of a row as members of an object.
func appendValues(b []byte, r *row) []byte {
	for i, v := range r.values {
		if record.Number(v) != nil {
			b = append(append(append(b, `,"`...), scalars[i].name...), `":`...)
			b = appendNumber(b, v)
		}
	}
	return b
}

func (j *jsonFile) end() error   { return nil }
func (j *jsonFile) close() error { return j.file.flush() }
