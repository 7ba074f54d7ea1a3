package dash

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"gossiptrainer/app/runfolder"
)

// The names of kinds of folders.
var kinds = map[runfolder.Kind]string{runfolder.OneRun: "run", runfolder.Cells: "comparison",
	runfolder.Several: "several"}

// A server answers the pages.
type server struct {
	lib     *library
	version string // of the program
	again   string // the command that shows the folder again
	follows bool   // it ends with a run
	ended   chan struct{}
	streams chan struct{} // one for each open stream
}

// A state is what a page knows before it looks at a run.
type state struct {
	Version    string      `json:"version"`
	Folder     string      `json:"folder"`
	Kind       string      `json:"kind"` // run, comparison, several
	Follows    bool        `json:"follows"`
	Main       *string     `json:"main"` // id of the run to show first; null: there is none yet
	Again      string      `json:"again"`
	Runs       []Listed    `json:"runs"` // newest first
	Comparison *comparison `json:"comparison"`
}

// state returns the list of runs.
func (s *server) state(now time.Time) *state {
	l := s.lib
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(now)
	out := &state{Version: s.version, Folder: l.folder, Kind: kinds[l.kind], Follows: s.follows, Main: l.main(),
		Again: s.again, Runs: make([]Listed, 0, len(l.order)), Comparison: l.cells}
	for _, id := range l.order {
		r := l.known[id]
		out.Runs = append(out.Runs, Listed{ID: id, Name: r.Name, Began: r.Began, State: string(r.State),
			Method: r.Method, Graph: r.Graph,
			listedPlace: listedPlace{Workers: r.Workers, Rounds: r.Rounds, Of: r.Of, TrainLoss: maybe(r.TrainLoss),
				Loss: maybe(r.Loss), Accuracy: maybe(r.Accuracy), Sent: r.Sent}})
	}
	return out
}

// hold keeps the track of a run, or refuses.
func (s *server) hold(w http.ResponseWriter, id string) (t *track, release func(), ok bool) {
	t, release, err := s.lib.hold(id, time.Now())
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusServiceUnavailable, err.Error())
	case err != nil:
		refuse(w, http.StatusNotFound, err.Error())
	}
	return t, release, err == nil
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(jsonOf(value)) // a browser that is gone needs no answer
}

// jsonOf writes a value whose types all have a form in JSON.
func jsonOf(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
