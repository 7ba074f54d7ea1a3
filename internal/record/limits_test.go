package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordOf makes a run folder whose record has one good line and then these.
func recordOf(t *testing.T, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := strings.Join(append([]string{`{"step":{"rank":0,"round":1,"time_ns":5,"loss":0.5}}`}, lines...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, EventsFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNumbersThatNoRunHasAreRefusedWithTheirLine(t *testing.T) {
	for line, want := range map[string]string{
		`{"step":{"rank":1000000000000,"round":1}}`: "line 2: step of rank 1000000000000: the run has ranks 0 to " +
			"65535",
		`{"step":{"rank":-1,"round":1}}`:                     "line 2: step of rank -1",
		`{"step":{"rank":1,"round":-7}}`:                     "line 2: step of round -7",
		`{"score":{"rank":-2,"round":1}}`:                    "line 2: score of rank -2",
		`{"final":{"rank":65536,"rounds":1}}`:                "line 2: final of rank 65536",
		`{"final":{"rank":0,"rounds":-1}}`:                   "line 2: final of round -1",
		`{"edge":{"rank":0,"peer":99999999}}`:                "line 2: edge of rank 99999999",
		`{"status":{"rank":-1,"missing":[3,1000000000000]}}`: "line 2: status of rank 1000000000000",
	} {
		dir := recordOf(t, line)
		_, err := Open(dir)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), filepath.Join(dir, EventsFile)) {
			t.Errorf("%s: error %v, want one with the file and %q", line, err, want)
		}
	}
}

func TestARecordIsHeldAgainstItsRun(t *testing.T) {
	run, err := Open(recordOf(t, `{"score":{"rank":-1,"round":30}}`, `{"step":{"rank":4,"round":31}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Within(Limits{Peers: 5, Rounds: 31}); err != nil {
		t.Error(err)
	}
	for want, l := range map[string]Limits{
		"line 3: step of rank 4: the run has ranks 0 to 3":     {Peers: 4, Rounds: 31},
		"line 3: step of round 31: the run has rounds 0 to 30": {Peers: 5, Rounds: 30},
	} {
		if err := run.Within(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", l, err, want)
		}
	}
}
