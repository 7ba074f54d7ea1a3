package export

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
)

const (
	workers = 3
	rounds  = 40
)

// steps are those of a run whose workers take turns, each later than the one before.
func steps() []record.Event {
	var events []record.Event
	for round := 1; round <= rounds; round++ {
		for rank := range workers {
			events = append(events, record.Event{Step: &record.Step{
				Rank: rank, Round: round, Time: time.Duration(round)*time.Second + time.Duration(rank)*time.Millisecond,
				Loss: 2/float64(round) + float64(rank), Gap: float64(rank) / 8, Theta: 0.5, Bits: 8,
				Compute: 3 * time.Millisecond, Sent: record.Bytes{Payload: int64(100 * round), Wire: int64(120 * round)},
			}})
		}
	}
	return events
}

// write makes the folder of a run.
func write(t *testing.T, dir string, events []record.Event, s *record.Summary) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, e := range events {
		if err := record.Write(&text, e); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, record.EventsFile), text.Bytes())
	put(t, filepath.Join(dir, runfolder.RunFile), configs.Default().YAML())
	if s != nil {
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, record.SummaryFile), out)
	}
	return dir
}

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// run makes the folder of a run that began at noon and has ended.
func run(t *testing.T) string {
	accuracy := 0.75
	violations := int64(2)
	events := append(steps(),
		record.Event{Score: &record.Score{Rank: record.Average, Round: 20, Loss: 1.25, Accuracy: 0.5}},
		record.Event{Final: &record.Final{Rank: 1, Rounds: rounds, Loss: 0.25, Accuracy: math.NaN(), Time: time.Minute,
			ExtraMemory: 99, Theta: record.Theta{Value: 0.5, Violations: &violations}}})
	return write(t, filepath.Join(t.TempDir(), "tulip-20261123-120000"), events,
		&record.Summary{Rounds: rounds, Time: 60, Accuracy: record.Accuracy{AverageModel: &accuracy}})
}

func export(t *testing.T, dir, to string) (*Result, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	r, err := Export(dir, to, out, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return r, out
}

// table reads a CSV as maps from column to cell.
func table(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll() // refuses lines of different lengths
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCSVHasEveryValueOfTheRecord(t *testing.T) {
	r, out := export(t, run(t), "csv")
	rows := table(t, out)
	if r.Rows != len(rows) || r.Workers != workers || r.Runs != 1 || len(r.Unfinished) != 0 {
		t.Errorf("%+v for %d rows", r, len(rows))
	}
	of := func(worker, round string) (found map[string]string) {
		for _, row := range rows {
			if row["worker"] == worker && row["round"] == round {
				if found == nil {
					found = map[string]string{}
				}
				for name, cell := range row {
					if cell != "" {
						found[name] = cell
					}
				}
			}
		}
		return found
	}
	for name, want := range map[string]string{
		"run": "tulip-20261123-120000", "loss/train": "1.1", "consensus/gap": "0.125", "theta/bound": "0.5",
		"bits/message": "8", "time/compute_seconds": "0.003", "sent/payload_bytes": "2000", "sent/wire_bytes": "2400",
		"time_seconds": "20.001", "time_utc": "2026-11-23T12:00:20.001Z", "accuracy/test": "",
	} {
		if got := of("worker-1", "20")[name]; got != want {
			t.Errorf("worker 1 in round 20: %s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"loss/train": "1.1", "consensus/gap": "0.25", "accuracy/test": "0.5",
		"loss/test": "1.25"} {
		if got := of("average", "20")[name]; got != want {
			t.Errorf("average in round 20: %s is %q, want %q", name, got, want)
		}
	}
	last := of("worker-1", strconv.Itoa(rounds))
	if last["loss/test"] != "0.25" || last["memory/extra_bytes"] != "99" || last["theta/violations"] != "2" {
		t.Errorf("the result of worker 1 is %v", last)
	}
	if got := of("average", strconv.Itoa(rounds))["accuracy/average_model"]; got != "0.75" {
		t.Errorf("accuracy of the average model is %q, want that of the summary", got)
	}
}

// The average has the losses, gaps and times that report draws, also if workers arrive late, and if one is lost.
func TestTheAverageIsThatOfTheReport(t *testing.T) {
	events := slices.Insert(steps(), workers*rounds/2, record.Event{Status: &record.Status{Rank: 1, State: record.Lost}})
	events = slices.DeleteFunc(events, func(e record.Event) bool {
		return e.Step != nil && e.Step.Rank == 1 && e.Step.Round > rounds/2
	})
	for i := 0; i+7 < len(events); i += 5 { // a worker on a LAN
		events[i], events[i+7] = events[i+7], events[i]
	}
	want := (&record.Run{Events: events}).Progress()
	_, out := export(t, write(t, filepath.Join(t.TempDir(), "r"), events, nil), "csv")
	var got []record.Moment
	for _, row := range table(t, out) {
		if row["worker"] == "average" {
			number := func(name string) float64 {
				v, err := strconv.ParseFloat(row[name], 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			got = append(got, record.Moment{Loss: number("loss/train"), Gap: number("consensus/gap"),
				Time: time.Duration(math.Round(number("time_seconds") * 1e9)), Round: number("round")})
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i, m := range want {
		if g := got[i]; math.Abs(g.Loss-m.Loss) > 1e-12 || g.Gap != m.Gap || g.Time != m.Time || g.Round != m.Round {
			t.Errorf("row %d is %+v, want %+v", i, g, m)
		}
	}
}

// Workers that are evaluated alone, as in a lab, have a mean, also with their results.
func TestScoresOfWorkersHaveAMean(t *testing.T) {
	events := steps()
	for rank := range workers {
		events = append(events,
			record.Event{Score: &record.Score{Rank: rank, Round: 10, Loss: float64(rank), Accuracy: 0.5}},
			record.Event{Final: &record.Final{Rank: rank, Rounds: rounds, Loss: 1, Accuracy: float64(rank) / 4}})
	}
	_, out := export(t, write(t, filepath.Join(t.TempDir(), "r"), events, nil), "csv")
	means := map[string]string{}
	for _, row := range table(t, out) {
		if row["worker"] == "average" && row["loss/test"] != "" {
			means[row["round"]] = row["loss/test"] + " " + row["accuracy/test"]
		}
	}
	if len(means) != 2 || means["10"] != "1 0.5" || means["40"] != "1 0.25" {
		t.Errorf("means are %v", means)
	}
}

func TestJSONLinesHaveTheValuesOfTheCSV(t *testing.T) {
	dir := run(t)
	_, table1 := export(t, dir, "csv")
	_, lines := export(t, dir, "jsonl")
	want := table(t, table1)
	for i, got := range objects(t, lines) {
		full := 0
		for name, cell := range want[i] {
			if cell == "" {
				continue
			}
			full++
			if text := fmt.Sprint(got[name]); text != cell {
				number, err := strconv.ParseFloat(cell, 64)
				if err != nil || got[name] != number {
					t.Fatalf("line %d: %s is %v, want %s", i+1, name, got[name], cell)
				}
			}
		}
		if len(got) != full {
			t.Errorf("line %d has %d values, want %d", i+1, len(got), full)
		}
	}
}

func objects(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var one map[string]any
		if err := json.Unmarshal(in.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// names lists the files below a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTensorBoardHasARunPerWorkerAndOneOfTheAverage(t *testing.T) {
	r, out := export(t, run(t), "tensorboard")
	const file = "/events.out.tfevents.1795435200.gossip"
	var want []string
	for _, worker := range []string{"average", "worker-0", "worker-1", "worker-2"} {
		want = append(want, "tulip-20261123-120000/"+worker+file)
	}
	if got := names(t, out); !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
	text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(want[2])))
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("loss/train")); got != rounds {
		t.Errorf("%d losses, want %d", got, rounds)
	}
	if r.Next() != "tensorboard --logdir "+advice.Command(out) {
		t.Errorf("next is %q", r.Next())
	}
}

func TestWeightsAndBiasesHasSettingsHistoryAndSummary(t *testing.T) {
	_, out := export(t, run(t), "wandb")
	dir := filepath.Join(out, "offline-run-20261123_120000-tulip-20261123-120000-worker-1")
	if got := len(names(t, dir)); got != 4 {
		t.Errorf("%d files: %q", got, names(t, dir))
	}
	text, err := os.ReadFile(filepath.Join(dir, "files", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	size, _ := config["topology.size"].(map[string]any)
	want := strconv.Itoa(configs.Default().Topology.Size)
	if fmt.Sprint(config["wandb_version"]) != "1" || fmt.Sprint(size["value"]) != want {
		t.Errorf("config is\n%s", text)
	}
	if config["node.join_secret"] != nil || config["output.dir"] != nil {
		t.Error("it tells what belongs to one machine")
	}
	history := objects(t, filepath.Join(dir, "files", "wandb-history.jsonl"))
	if len(history) != rounds+1 || history[19]["_step"] != 20.0 || history[19]["loss/train"] != 1.1 {
		t.Errorf("%d lines of history, line 20 is %v", len(history), history[19])
	}
	summary := objects(t, filepath.Join(dir, "files", "wandb-summary.json"))[0]
	if summary["_step"] != float64(rounds) || summary["loss/test"] != 0.25 || summary["theta/bound"] != 0.5 {
		t.Errorf("summary is %v", summary)
	}
}

// A run that goes on, or was killed while it wrote, is exported as far as its record goes.
func TestARunThatHasNotEnded(t *testing.T) {
	dir := write(t, filepath.Join(t.TempDir(), "r"), steps(), nil)
	path := filepath.Join(dir, record.EventsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, append(text, `{"step":{"rank":2,"rou`...))
	for _, to := range Targets() {
		r, _ := export(t, dir, to)
		var said strings.Builder
		if err := r.Write(&said); err != nil {
			t.Fatal(err)
		}
		if len(r.Unfinished) != 1 || r.Rows != (workers+1)*rounds || !strings.Contains(said.String(), "has not ended") {
			t.Errorf("%s: %+v\n%s", to, r, said.String())
		}
	}
}

// A comparison has one run per cell, named as the cell, also one that goes on.
func TestCellsOfAComparison(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, cells.ComparisonFile), []byte("{}"))
	write(t, filepath.Join(dir, cells.CellsFolder, "slow-moniqua-1", "run"), steps(), &record.Summary{})
	write(t, filepath.Join(dir, cells.CellsFolder, "slow-full-1", "r-20261123-120000"), steps(), nil)
	r, out := export(t, dir, "csv")
	runs := map[string]int{}
	for _, row := range table(t, out) {
		runs[row["run"]]++
	}
	if r.Runs != 2 || runs["slow-moniqua-1"] < (workers+1)*rounds || runs["slow-full-1"] != (workers+1)*rounds ||
		!slices.Equal(r.Unfinished, []string{"slow-full-1"}) {
		t.Errorf("%+v, rows %v", r, runs)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	dir, root := run(t), t.TempDir()
	damaged := write(t, filepath.Join(root, "damaged"), nil, nil)
	put(t, filepath.Join(damaged, record.EventsFile), []byte("{\"step\":{\"rank\":0,\"round\":1}}\nfoo\n"))
	empty := write(t, filepath.Join(root, "empty"), []record.Event{{Status: &record.Status{}}}, nil)
	there := filepath.Join(root, "there")
	put(t, there, nil)
	for _, test := range []struct {
		dir, to, out string
		want, hint   string
	}{
		{dir, "tensorbord", "", `export: --to "tensorbord": want one of tensorboard, csv, jsonl, wandb`,
			"did you mean tensorboard?"},
		{dir, "", "", "export: --to is missing: want one of tensorboard, csv, jsonl, wandb", ""},
		{dir, "csv", there, "there exists already", "remove it, or name another place: -o PATH"},
		{filepath.Join(root, "none"), "csv", "", "export: there is no folder", "peer runs lists the runs"},
		{t.TempDir(), "csv", "", "is not the folder of a run or of a comparison", "peer lab prints"},
		{filepath.Dir(dir), "csv", "", "holds 1 run: name one of them", "peer export "},
		{damaged, "csv", filepath.Join(root, "x"), "damaged" + string(filepath.Separator) + "events.jsonl: line 2: ",
			"a copy of the folder without this line"},
		{empty, "csv", filepath.Join(root, "x"), "has no steps yet", "every output.every rounds"},
		{dir, "csv", filepath.Join(there, "x"), "export: ", ""},
	} {
		_, err := Export(test.dir, test.to, test.out, func(int64, int64) {})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s to %s: error %v, want %q", test.dir, test.to, err, test.want)
			continue
		}
		hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if test.hint != "" && (!ok || !strings.Contains(hinted.Hint(), test.hint)) {
			t.Errorf("%v: no hint %q", err, test.hint)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".export-*")); len(left) > 0 || len(names(t, root)) != 5 {
		t.Errorf("it left %q", names(t, root))
	}
}

// An export hears of every byte of the record twice.
func TestAnExportTellsHowFarItIs(t *testing.T) {
	dir, last, of := run(t), int64(0), int64(0)
	_, err := Export(dir, "csv", filepath.Join(t.TempDir(), "x"), func(done, all int64) {
		if done <= last || done > all {
			t.Errorf("%d of %d after %d", done, all, last)
		}
		last, of = done, all
	})
	info, statErr := os.Stat(filepath.Join(dir, record.EventsFile))
	if err != nil || statErr != nil || last != of || of != 2*info.Size() {
		t.Errorf("%d of %d bytes, error %v", last, of, err)
	}
}

// A disk without room is named, with what to do.
func TestAFullDiskIsNamed(t *testing.T) {
	err := explained(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "out.csv")
	hinted, ok := errors.AsType[*advice.Error](err)
	if !ok || !strings.HasPrefix(err.Error(), "export: no room for out.csv") ||
		!strings.Contains(hinted.Hint(), "make room") {
		t.Errorf("error %v", err)
	}
}

// failing is a sink that fails at a row.
type failing struct{ sink }

func (failing) write(*source, *row) error { return io.ErrShortWrite }

// An output that cannot be written to its end leaves nothing behind.
func TestAnExportAppearsWholeOrNotAtAll(t *testing.T) {
	dir, to := run(t), t.TempDir()
	form := target{open: func(path string) (sink, error) {
		s, err := openTensorBoard(path)
		return failing{s}, err
	}}
	sources, err := sourcesIn(dir, &reading{watch: func(int64, int64) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := new(Result).into(form, sources, filepath.Join(to, "out")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(to); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// The rows and bytes in memory do not grow with the record, even if a worker is never heard of.
func TestMemoryDoesNotGrowWithTheRecord(t *testing.T) {
	const n = 8
	a := newAverage(n)
	for round := 1; round <= 20000; round++ {
		for rank := range n - 1 { // the last worker is never heard of
			a.see(record.Event{Step: &record.Step{Rank: rank, Round: round, Time: time.Duration(20000 - round)}})
			a.see(record.Event{Score: &record.Score{Rank: rank, Round: round}})
		}
		if a.late.Len() > lateRows*n+1 || len(a.scores) > openRounds+1 || len(a.pace.Last()) > n {
			t.Fatalf("round %d: %d rows, %d rounds and %d workers wait", round, a.late.Len(), len(a.scores), len(a.pace.Last()))
		}
	}
	d := newDraft(filepath.Join(t.TempDir(), "d"), 5000)
	for range 10000 {
		if err := d.append(func(b []byte) []byte { return append(b, "0123456789"...) }); err != nil {
			t.Fatal(err)
		}
		if len(d.waiting) >= d.most || d.most > mostInAll/5000 {
			t.Fatalf("%d bytes wait, at most %d", len(d.waiting), d.most)
		}
	}
}

// No two scalars have one name, and each has a meaning.
func TestScalarsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scalars {
		if seen[s.name] || s.meaning == "" || strings.ContainsAny(s.name, ",\"\n") {
			t.Errorf("%+v", s)
		}
		seen[s.name] = true
	}
}

// The reference lists every curve with its meaning, and no other.
func TestThePageListsTheCurves(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "curves.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n| name | meaning |\n|---|---|\n")
	section, _, _ = strings.Cut(section, "\n\n")
	var want strings.Builder
	for _, s := range scalars {
		fmt.Fprintf(&want, "| `%s` | %s |\n", s.name, s.meaning)
	}
	if strings.TrimSuffix(section, "\n")+"\n" != want.String() {
		t.Errorf("docs/reference/curves.md lists\n%s\nwant\n%s", section, want.String())
	}
}
