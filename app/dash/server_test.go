package dash

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/record"
)

// get asks a handler for a path, and returns code and body.
func get(t *testing.T, h http.Handler, target string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w.Code, w.Body.String()
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	newFolder(t, dir, tulip).add(roundOf(4, 10)...)
	newFolder(t, filepath.Join(dir, "secret"), "other") // below, but no run of the list
	h := libraryOf(t, dir).handler()
	for target, want := range map[string]int{
		"/":                             http.StatusOK,
		"/app.js":                       http.StatusOK,
		"/favicon.ico":                  http.StatusNoContent,
		"/nothing":                      http.StatusNotFound,
		"/../server.go":                 http.StatusNotFound,
		"/api/state":                    http.StatusOK,
		"/api/runs/" + tulip:            http.StatusOK,
		"/api/runs/none":                http.StatusNotFound,
		"/api/runs/secret%2Fother":      http.StatusNotFound,
		"/api/runs/..%2F..%2Fetc":       http.StatusNotFound,
		"/api/runs/%2Fetc%2Fpasswd":     http.StatusNotFound,
		"/api/stream?run=../" + tulip:   http.StatusNotFound,
		"/api/stream?run=" + dir:        http.StatusNotFound,
		"/api/nothing":                  http.StatusNotFound,
		"/api/runs/none/workers/0":      http.StatusNotFound,
		"/api/runs/x/workers/eins":      http.StatusBadRequest,
		"/api/runs/" + tulip + "/other": http.StatusNotFound,
	} {
		code, body := get(t, h, target)
		if code != want && !(strings.Contains(target, "..") && code/100 == 3) { // ServeMux cleans paths
			t.Errorf("%s: %d %.80s, want %d", target, code, body, want)
		}
		if code/100 == 4 && strings.TrimSpace(body) == "" {
			t.Errorf("%s: %d without a sentence for people", target, code)
		}
	}
	for rank, want := range map[string]int{"3": http.StatusOK, "4": http.StatusNotFound, "-1": http.StatusNotFound} {
		if code, body := get(t, h, "/api/runs/"+tulip+"/workers/"+rank); code != want {
			t.Errorf("worker %s: %d %.80s, want %d", rank, code, body, want)
		}
	}
}

// Runs that appear later are found, and those that pages do not look at make room for others.
func TestALibraryGrows(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	s := libraryOf(t, dir)
	if n := len(s.state(now).Runs); n != 0 {
		t.Fatalf("%d runs in an empty folder", n)
	}
	names := []string{}
	for i := range mostTracks + 1 {
		name := "tulip-20261121-1005" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		newFolder(t, dir, name)
		names = append(names, name)
	}
	now = now.Add(listEvery)
	if n := len(s.state(now).Runs); n != len(names) {
		t.Fatalf("%d runs, want %d", n, len(names))
	}
	var release []func()
	for _, name := range names[:mostTracks] {
		_, let, err := s.lib.hold(name, now)
		if err != nil {
			t.Fatal(err)
		}
		release = append(release, let)
	}
	last := names[mostTracks]
	if _, _, err := s.lib.hold(last, now); !errors.Is(err, errBusy) {
		t.Errorf("one run too many: %v", err)
	}
	release[3]()
	if _, let, err := s.lib.hold(last, now); err != nil || len(s.lib.tracks) != mostTracks {
		t.Errorf("after one was left: %v, %d runs", err, len(s.lib.tracks))
	} else {
		let()
	}
}

func TestNoFolder(t *testing.T) {
	d, err := Open(Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.End()
	err = d.Show(filepath.Join(t.TempDir(), "none"), UntilStopped)
	usage, ok := errors.AsType[*advice.UsageError](err)
	if !ok || !strings.Contains(err.Error(), "there is no folder") || usage.Hint() == "" {
		t.Errorf("%v, want advice", err)
	}
}

// opened returns a dash of a run over a real connection.
func opened(t *testing.T) (*Dash, *folder) {
	t.Helper()
	f := newFolder(t, t.TempDir(), tulip)
	f.add(roundOf(4, 10)...)
	d, err := Open(Options{Listen: "127.0.0.1:0"})
	if err == nil {
		err = d.Show(f.dir, WithRun)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, f
}

// A page gets the last records, and learns that there will be no more.
func TestADashEndsWithItsRun(t *testing.T) {
	d, f := opened(t)
	answer, err := http.Get(d.URL() + "api/stream?run=" + tulip)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	over := make(chan struct{})
	var once bool
	var last View
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == "run":
			last = View{}
			var v struct {
				Progress struct {
					Round float64 `json:"round"`
				} `json:"progress"`
			}
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				t.Fatal(err)
			}
			last.Version = int64(v.Progress.Round)
			if !once {
				once = true
				f.add(roundOf(4, 100)...)
				go func() { d.End(); close(over) }()
			}
		}
	}
	if event != "ended" || last.Version != 100 {
		t.Errorf("the stream ended with %q and round %d", event, last.Version)
	}
	<-over
	if d.Again() != advice.Command("peer", "dash", f.dir) {
		t.Errorf("it shows again with %q", d.Again())
	}
	if _, err := http.Get(d.URL()); err == nil {
		t.Error("the entrance is open after the end")
	}
}

// A browser that takes nothing does not keep a run from its end.
func TestADeadBrowserDelaysNoEnd(t *testing.T) {
	d, f := opened(t)
	c, err := net.Dial("tcp", d.entrance.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	host := d.entrance.Addr().String()
	if _, err := io.WriteString(c, "GET /api/stream?run="+tulip+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the stream has begun
		t.Fatal(err)
	}
	long := record.Event{Status: &record.Status{Rank: 1, State: record.Waiting, Detail: strings.Repeat("x", 500_000)}}
	for range 12 {
		f.add(long, statusOf(1, record.Training, ""))
	}
	d.End() // else the test would not end
	if d.Again() == "" {
		t.Error("the folder is not shown again")
	}
}
