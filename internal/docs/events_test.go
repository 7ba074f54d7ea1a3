package docs

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

var records = map[string]decoder{"events": events, "summary": summary}

func events(t *testing.T, d document, name string) {
	text := d[name]
	all, err := record.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 7 {
		t.Fatalf("%d events, want one of each kind", len(all))
	}
	equal(t, "state", all[0].Status.State, record.Waiting)
	equal(t, "ranks waited for", len(all[0].Status.Missing), 1)
	equal(t, "moved", all[1].Step.Moved, 997)
	equal(t, "gap", all[1].Step.Gap, 0.5)
	equal(t, "bytes received", all[1].Step.Received, record.Bytes{Payload: 20160, Stream: 20800, Wire: 22100})
	equal(t, "rank of a score", all[2].Score.Rank, record.Average)
	equal(t, "accuracy", all[2].Score.Accuracy, 0.625)
	equal(t, "edge", *all[3].Edge, record.Edge{Rank: 3, Peer: 2, Exchange: 41})
	equal(t, "awaited link", all[4].Links.Links[0].Last, 7)
	equal(t, "processor time", all[4].Links.Spent.CPU, 310*time.Millisecond)
	equal(t, "learning rate", *all[5].Values.Values["lr"], 0.01)
	equal(t, "a value that is not finite", all[5].Values.Values["reward"], nil)
	equal(t, "violations", *all[6].Final.Theta.Violations, 2)
	equal(t, "rows", *all[6].Final.Data, record.Rows{Train: 7500, Test: 10000})
	equal(t, "final accuracy", all[6].Final.Accuracy, 0.8125)
	var made bytes.Buffer
	for _, e := range all {
		if err := record.Write(&made, e); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "the events as they are written", made.String(), text)
}

func summary(t *testing.T, d document, name string) {
	dir := t.TempDir()
	for file, text := range map[string]string{record.EventsFile: "", record.SummaryFile: d[name]} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Summary
	equal(t, "algorithm", s.Algorithm, "moniqua")
	equal(t, "steps", s.Steps, 4800)
	equal(t, "accuracy of the worst model", *s.Accuracy.Min, 0.796875)
	equal(t, "consensus", *s.Consensus, 0.0625)
	equal(t, "evaluated on", s.Data.Evaluated, "one test set of 10000 rows")
	made, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(d[name])); err != nil {
		t.Fatal(err)
	}
	equal(t, "the summary as it is written", string(made), want.String())
}

// tables are the types that the sections of docs/format/events.md describe.
var tables = map[string]reflect.Type{
	"The record of a run": reflect.TypeFor[record.Event](),
	"Step":                reflect.TypeFor[record.Step](),
	"Score":               reflect.TypeFor[record.Score](),
	"Status":              reflect.TypeFor[record.Status](),
	"Edge":                reflect.TypeFor[record.Edge](),
	"Links":               reflect.TypeFor[record.Links](),
	"Values":              reflect.TypeFor[record.Values](),
	"Spent":               reflect.TypeFor[record.Spent](),
	"Rest":                reflect.TypeFor[record.Rest](),
	"Link":                reflect.TypeFor[record.Link](),
	"Path":                reflect.TypeFor[record.Path](),
	"Way":                 reflect.TypeFor[record.Way](),
	"Final":               reflect.TypeFor[record.Final](),
	"Rows":                reflect.TypeFor[record.Rows](),
	"Missed faults":       reflect.TypeFor[record.MissedFault](),
	"Parts":               reflect.TypeFor[record.Parts](),
	"Alone":               reflect.TypeFor[record.Alone](),
	"Gone":                reflect.TypeFor[record.Gone](),
	"Bytes":               reflect.TypeFor[record.Bytes](),
	"Messages":            reflect.TypeFor[record.Messages](),
	"Theta":               reflect.TypeFor[record.Theta](),
	"Summary":             reflect.TypeFor[record.Summary](),
	"Accuracy":            reflect.TypeFor[record.Accuracy](),
	"Data":                reflect.TypeFor[record.Split](),
	"Losses":              reflect.TypeFor[record.Losses](),
	"Views":               reflect.TypeFor[record.Membership](),
}

var (
	heading = regexp.MustCompile(`(?m)^##? (.*)\n`)
	field   = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

func TestEveryFieldOfARecordIsDescribed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(formats, "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string][]string{}
	starts := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		title := string(text[at[2]:at[3]])
		for _, row := range field.FindAllSubmatch(text[at[1]:end], -1) {
			described[title] = append(described[title], string(row[1]))
		}
		slices.Sort(described[title])
	}
	for title, of := range tables {
		var want []string
		for f := range of.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want = append(want, key)
			part := element(f.Type)
			if part.Kind() == reflect.Struct && !slices.Contains(slices.Collect(maps.Values(tables)), part) {
				t.Errorf("docs/format/events.md: no section describes %v, which is %s of %v", part, key, of)
			}
		}
		slices.Sort(want)
		if !slices.Equal(described[title], want) {
			t.Errorf("docs/format/events.md: section %s describes\n%v, %v has\n%v", title, described[title], of, want)
		}
	}
}

// element returns the element type of a pointer or a list.
func element(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	return of
}
