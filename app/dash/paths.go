package dash

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"time"
)

// page is the built page. Its sources are in web.
//
//go:embed all:page
var page embed.FS

// handler returns the paths of the dash.
func (s *server) handler() http.Handler {
	built, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(built))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent) // the page names another one
	})
	mux.HandleFunc("GET /api/state", s.serveState)
	mux.HandleFunc("GET /api/runs/{id}", s.serveRun)
	mux.HandleFunc("GET /api/runs/{id}/workers/{rank}", s.serveWorker)
	mux.HandleFunc("GET /api/stream", s.serveStream)
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "the dash has no such path")
	})
	return mux
}

func (s *server) serveState(w http.ResponseWriter, _ *http.Request) { answer(w, s.state(time.Now())) }

// serveRun answers with all of one run.
func (s *server) serveRun(w http.ResponseWriter, r *http.Request) {
	t, release, ok := s.hold(w, r.PathValue("id"))
	if !ok {
		return
	}
	defer release()
	view, _ := t.view("")
	answer(w, view)
}

// serveWorker answers with the curve of one worker.
func (s *server) serveWorker(w http.ResponseWriter, r *http.Request) {
	rank, err := strconv.Atoi(r.PathValue("rank"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "the rank of a worker is a number")
		return
	}
	t, release, ok := s.hold(w, r.PathValue("id"))
	if !ok {
		return
	}
	defer release()
	curve := t.worker(rank)
	if curve == nil {
		refuse(w, http.StatusNotFound, "the run has no worker "+strconv.Itoa(rank))
		return
	}
	answer(w, struct {
		Rank  int    `json:"rank"`
		Curve *Curve `json:"curve"`
	}{rank, curve})
}

// serveStream sends the changes of a run and of the list. A stream has no queue: it sends what has changed since its
// last message, whenever the browser has taken that.
func (s *server) serveStream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open: close one", mostStreams))
		return
	}
	out := &stream{server: s, to: w, control: http.NewResponseController(w), seen: r.Header.Get("Last-Event-ID")}
	if id := r.URL.Query().Get("run"); id != "" {
		t, release, ok := s.hold(w, id)
		if !ok {
			return
		}
		defer release()
		out.track = t
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintf(&out.text, "retry: %d\n\n", retryMillis)
	_ = out.run(r.Context()) // the page is gone
}
