package dash

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// A message is one event of a stream.
type message struct {
	event, id string
	data      map[string]any
	at        time.Time
}

// A browser takes the messages of a stream, as long as it is not asleep.
type browser struct {
	mu       sync.Mutex
	header   http.Header
	text     string
	messages []message
	asleep   chan struct{} // a write waits until it is closed; nil: none does
	gone     error         // what a write returns
}

func (b *browser) Header() http.Header { return b.header }
func (b *browser) WriteHeader(int)     {}
func (b *browser) Flush()              {}

func (b *browser) Write(p []byte) (int, error) {
	if b.asleep != nil {
		<-b.asleep
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text += string(p)
	for {
		one, rest, whole := strings.Cut(b.text, "\n\n")
		if !whole {
			return len(p), b.gone
		}
		b.text = rest
		m := message{at: time.Now()}
		for line := range strings.Lines(one) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch name {
			case "event":
				m.event = value
			case "id":
				m.id = value
			case "data":
				_ = json.Unmarshal([]byte(value), &m.data)
			}
		}
		if m.event != "" {
			b.messages = append(b.messages, m)
		}
	}
}

// of returns the messages of an event so far.
func (b *browser) of(event string) (found []message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if m.event == event {
			found = append(found, m)
		}
	}
	return found
}

// open lets a browser listen to a run until the function that it returns is called.
func (b *browser) open(t *testing.T, s *server, id, last string) (leave func()) {
	t.Helper()
	b.header = http.Header{}
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/stream?run="+id, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.serveStream(b, r)
	}()
	return func() {
		cancel()
		<-over
	}
}

// inBubble runs a test with a run of four workers on a clock that does not wait.
func inBubble(t *testing.T, test func(t *testing.T, f *folder, s *server)) {
	dir := t.TempDir() // outside the bubble, because its end removes it
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t, dir, tulip)
		ctx, cancel := context.WithCancel(t.Context())
		s := libraryOf(t, f.dir)
		s.lib.ctx = ctx
		test(t, f, s)
		cancel()
		s.lib.finish()
		time.Sleep(2 * linger) // timers of the library end
	})
}

// Every record reaches the page, with at most two messages a second.
func TestAPageFollowsARun(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		var b browser
		leave := b.open(t, s, tulip, "")
		began := time.Now()
		for round := 1; round <= 100; round++ {
			f.add(roundOf(4, round)...)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		leave()
		all := b.of("run")
		if took := time.Since(began).Seconds(); float64(len(all)) > 2*took+1 || float64(len(all)) < took {
			t.Errorf("%d messages in %v s, want at most two a second", len(all), took)
		}
		if all[0].data["reset"] != true || all[1].data["reset"] != false {
			t.Errorf("the first messages: reset %v and %v", all[0].data["reset"], all[1].data["reset"])
		}
		last := all[len(all)-1].data["progress"].(map[string]any)
		if last["round"] != 100.0 {
			t.Errorf("at the end the page has round %v", last["round"])
		}
		points := 0
		for _, m := range all {
			if c, ok := m.data["curve"].(map[string]any); ok {
				points += len(c["at"].([]any))
			}
		}
		if points != 100 {
			t.Errorf("%d points were sent for 100 moments", points)
		}
	})
}

// A browser that connects again names the last version that it has, and gets what came after it.
func TestAPageComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		var first, second, stranger browser
		f.add(roundOf(4, 10)...)
		leave := first.open(t, s, tulip, "")
		time.Sleep(2 * time.Second)
		leave()
		had := first.of("run")
		f.add(roundOf(4, 20)...)
		time.Sleep(2 * time.Second)
		leave = second.open(t, s, tulip, had[len(had)-1].id)
		time.Sleep(2 * time.Second)
		leave()
		got := second.of("run")
		if len(got) == 0 || got[0].data["reset"] != false {
			t.Fatalf("after a break: %v", got)
		}
		if at := got[0].data["curve"].(map[string]any)["at"].([]any); len(at) != 1 || at[0] != 1.0 {
			t.Errorf("points %v, want the second one alone", at)
		}
		leave = stranger.open(t, s, tulip, "elsewhere-7")
		time.Sleep(2 * time.Second)
		leave()
		if got := stranger.of("run"); len(got) == 0 || got[0].data["reset"] != true {
			t.Errorf("with the version of another server: %v", got)
		}
	})
}

// A page learns within two seconds that a process is gone, from the record or from its silence.
func TestADeathIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		release := f.lock()
		defer release()
		var mu sync.Mutex
		alive := []int{0, 1, 2, 3}
		s.lib.ask = func() (all []status.Answer) {
			mu.Lock()
			defer mu.Unlock()
			for _, rank := range alive {
				a := status.Answer{Pid: 100 + rank, Folder: f.dir, Status: node.Status{Rank: rank, Round: 10, Waiting: []int{}}}
				for _, other := range []int{(rank + 1) % 4, (rank + 3) % 4} {
					a.Links = append(a.Links, node.LinkStatus{Neighbour: other, Up: true})
				}
				all = append(all, a)
			}
			return all
		}
		f.add(roundOf(4, 10)...)
		var b browser
		leave := b.open(t, s, tulip, "")
		time.Sleep(5*time.Second + 50*time.Millisecond) // between two checks
		killed := time.Now()
		mu.Lock()
		alive = []int{0, 1, 3}
		mu.Unlock()
		f.add(statusOf(2, record.Returning, "killed"))
		time.Sleep(5 * time.Second)
		leave()
		silent, told, down := time.Duration(0), time.Duration(0), time.Duration(0)
		for _, m := range b.of("run") {
			after := m.at.Sub(killed)
			for _, p := range m.data["peers"].([]any) {
				p := p.(map[string]any)
				if p["rank"] == 2.0 && p["here"] == false && silent == 0 {
					silent = after
				}
				if p["rank"] == 2.0 && p["state"] == "returning" && told == 0 {
					told = after
				}
			}
			for _, e := range m.data["edges"].([]any) {
				if e := e.(map[string]any); e["b"] == 2.0 && e["state"] == edgeDown && down == 0 {
					down = after
				}
			}
		}
		for what, after := range map[string]time.Duration{"silence": silent, "record": told, "edge": down} {
			if after <= 0 || after > 2*time.Second {
				t.Errorf("%s: seen after %v", what, after)
			}
		}
	})
}

// A browser that takes nothing keeps no other one waiting, and gets one message for all that it has missed.
func TestASlowPageHasNoQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		slow, quick := browser{asleep: make(chan struct{})}, browser{}
		leaveSlow, leaveQuick := slow.open(t, s, tulip, ""), quick.open(t, s, tulip, "")
		for round := 1; round <= 200; round++ {
			f.add(roundOf(4, round)...)
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(quick.of("run")); n < 20 {
			t.Errorf("beside a slow page another one got %d messages", n)
		}
		close(slow.asleep)
		time.Sleep(3 * time.Second)
		leaveSlow()
		leaveQuick()
		got := slow.of("run")
		if len(got) == 0 || len(got) > 3 {
			t.Fatalf("the slow page got %d messages", len(got))
		}
		if last := got[len(got)-1].data["progress"].(map[string]any); last["round"] != 200.0 {
			t.Errorf("the slow page ends with round %v", last["round"])
		}
	})
}

func TestAStreamEndsWithItsRun(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		s.follows = true
		var b browser
		ctx, cancel := context.WithCancel(t.Context())
		s.lib.ctx = ctx
		leave := b.open(t, s, tulip, "")
		time.Sleep(time.Second)
		f.add(roundOf(4, 100)...) // the last records come right before the end
		cancel()
		s.lib.finish()
		close(s.ended)
		synctest.Wait()
		runs, ended := b.of("run"), b.of("ended")
		if len(ended) != 1 || !strings.Contains(ended[0].data["text"].(string), "shows it again") {
			t.Errorf("it ended with %v", ended)
		}
		if last := runs[len(runs)-1].data["progress"].(map[string]any); last["round"] != 100.0 {
			t.Errorf("the page ends with round %v", last["round"])
		}
		leave()
	})
}

// A run at which no page looks is not followed for long, and a page that is gone is noticed.
func TestTracksEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, f *folder, s *server) {
		followed := func() int {
			s.lib.mu.Lock()
			defer s.lib.mu.Unlock()
			return len(s.lib.tracks)
		}
		b := browser{gone: errors.New("connection reset")}
		leave := b.open(t, s, tulip, "")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(s.streams) != 0 {
			t.Error("the stream of a browser that is gone goes on")
		}
		leave()
		time.Sleep(linger / 2)
		synctest.Wait()
		if followed() != 1 {
			t.Error("the run is forgotten at once")
		}
		time.Sleep(linger)
		synctest.Wait()
		if followed() != 0 {
			t.Error("the run is followed without a page")
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *folder, s *server) {
		var leave []func()
		for range mostStreams {
			leave = append(leave, new(browser).open(t, s, "", ""))
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		s.serveStream(w, httptest.NewRequest("GET", "/api/stream", nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one page too many: %d", w.Code)
		}
		for _, l := range leave {
			l()
		}
	})
}
