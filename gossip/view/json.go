package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"gossiptrainer/topology"
)

// A file of views, views.jsonl, has a record per line, from view 0 on.

// MaxLine bounds the bytes of a record in JSON.
const MaxLine = 1 << 22

// maxViews bounds the records of a file.
const maxViews = 1 << 20

// Append appends the record in JSON and a line feed to dst.
func Append(dst []byte, r Record) ([]byte, error) {
	r.Sponsors, r.Left = orEmpty(r.Sponsors), orEmpty(r.Left)
	r.Dead, r.Lost = orEmpty(r.Dead), orEmpty(r.Lost)
	line, err := json.Marshal(r)
	if err != nil {
		return dst, fmt.Errorf("view %d: %w", r.View, err)
	}
	return append(append(dst, line...), '\n'), nil
}

// orEmpty returns a list that JSON writes as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Parse reads a record. It knows no log: Log.Add says whether the record fits. It refuses fields that it does not know
// and lines above MaxLine.
func Parse(line []byte) (Record, error) {
	if len(line) > MaxLine {
		return Record{}, fmt.Errorf("%d bytes: a record has at most %d", len(line), MaxLine)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	var r Record
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("no record: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("more than one record in a line")
	}
	if !sound(r.Theta) || !sound(r.Topology.Slack) {
		return Record{}, errors.New("theta, slack: must be at least 0")
	}
	if err := CheckValues(r.Values); err != nil {
		return Record{}, err
	}
	return r, nil
}

// CheckValues returns why values cannot be: numbers are out of range.
func CheckValues(values []Value) error {
	for _, v := range values {
		if v.First < 0 || !sound(v.Scale) || !sound(v.Second) || v.Bits < 0 || v.Bits > 16 {
			return fmt.Errorf("values: first %d, scale %v and %v, bits %d: out of range", v.First, v.Scale,
				v.Second, v.Bits)
		}
	}
	return nil
}

// sound reports whether a number is finite and not negative.
func sound(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }

// Read reads a log. The graph of the run is base. An error names the line.
func Read(from io.Reader, base topology.Spec) (*Log, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, MaxLine+1)
	var log *Log
	number := 0
	for lines.Scan() {
		number++
		r, err := Parse(lines.Bytes())
		switch {
		case err != nil:
		case number > maxViews:
			err = fmt.Errorf("more than %d views", maxViews)
		case log == nil:
			log, err = New(base, r)
		default:
			err = log.Add(r)
		}
		if err == nil {
			err = log.fits(r)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if log == nil {
		return nil, errors.New("no views: the first line must be view 0, the founders")
	}
	return log, nil
}

// fits returns why a record that was added is not of the run of the log: it names another graph.
func (l *Log) fits(r Record) error {
	if own := l.Last().Topology; r.Topology != (Shape{}) && r.Topology != own {
		return fmt.Errorf("view %d: topology %+v: the run file has %+v: take the run file of the same run", r.View,
			r.Topology, own)
	}
	return nil
}
