package node

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/wire"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// message is the bytes of a message of a rehearsal in its journal.
const message = wire.HeaderLen + 32

// withRoom returns a rehearsal and the folder of its journal, which may grow by some messages between two
// checkpoints. Write fails with the error that broken returns.
func withRoom(t *testing.T, messages int64, broken func() error) (*rehearsal, string) {
	t.Helper()
	w := task{n: 3, dim: 8, rounds: 400}.worker(t, 1)
	dir := filepath.Join(t.TempDir(), "journal")
	log, err := journal.Open(dir, gossip.SlotsOf(w.Machine), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	w.Checkpoints = &Checkpoints{
		Journal: log, Take: func(int) {}, Write: func(int) error { return broken() }, Growth: messages * message, Keep: 5,
	}
	r := &rehearsal{t: t, script: newScript()}
	r.d = driverOf(t, w, r.script)
	r.d.w.Parameters = 8
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func whole() error { return nil }

// written waits for the checkpoint that is being written and returns its round, or −1 without one.
func (r *rehearsal) written() int {
	r.t.Helper()
	if !r.d.keeper.busy() {
		return -1
	}
	n := <-r.d.keeper.written
	if err := r.d.kept(n); err != nil {
		r.t.Fatal(err)
	}
	if err := r.d.advance(); err != nil {
		r.t.Fatal(err)
	}
	return n.round
}

// safe tells the worker that both neighbours keep no checkpoint older than that of a round.
func (r *rehearsal) safe(round int) {
	r.t.Helper()
	for _, from := range []topology.Rank{0, 2} {
		r.event(link.Event{Kind: link.FrameIn, Peer: from,
			Frame: gossip.Frame{From: from, To: 1, Kind: gossip.Durable, Round: round}})
	}
}

// Among neighbours alike a journal is never longer than four intervals, however many checkpoints are kept.
func TestTheJournalIsBounded(t *testing.T) {
	r, _ := withRoom(t, 5, whole)
	for _, peer := range []topology.Rank{0, 2} {
		r.event(link.Event{Kind: link.Up, Peer: peer})
	}
	most := int64(0)
	for range 300 {
		r.round()
		if r.written() > 0 {
			r.safe(r.d.keeper.oldest)
		}
		most = max(most, r.d.keeper.Journal.Size())
	}
	if want := budget.Longest(5 * message); most > want {
		t.Errorf("a journal of %d bytes, want at most %d", most, want)
	}
}

// A neighbour with little room gets a checkpoint that counts at once, but not more often than once a second.
func TestANeighbourWithLittleRoomGetsACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := withRoom(t, 1000, whole)
		press := func() {
			r.event(link.Event{Kind: link.FrameIn, Peer: 0,
				Frame: gossip.Frame{From: 0, To: 1, Kind: gossip.Durable, Note: gossip.Pressing}})
		}
		r.event(link.Event{Kind: link.Up, Peer: 0})
		if got := r.written(); got != 0 {
			t.Fatalf("it notes its beginning as round %d", got)
		}
		r.round()
		r.round()
		press()
		if got := r.written(); got >= 0 {
			t.Fatalf("a checkpoint of round %d within a second", got)
		}
		time.Sleep(pressing)
		r.round()
		if got := r.written(); got < 2 || r.d.keeper.oldest != got {
			t.Errorf("the checkpoint of round %d, the oldest that counts is %d", got, r.d.keeper.oldest)
		}
	})
}

// A shortage that is over before anyone could notice it leaves no word. A longer one is told, and so is its end.
func TestAShortShortageIsNotTold(t *testing.T) {
	for waits, want := range map[time.Duration]string{
		time.Millisecond: "",
		slow:             "no room: training waits until the disk takes more; there is room again: training goes on; ",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := withRoom(t, 4, whole)
			var said strings.Builder
			told := func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.MessageKey {
					text, _, _ := strings.Cut(a.Value.String(), "; Ctrl-C")
					said.WriteString(text + "; ")
				}
				return a
			}
			r.d.log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: told}))
			full := errors.New("no space left on device")
			r.d.waitForRoom(full)
			time.Sleep(waits)
			r.d.waitForRoom(full)
			r.d.goOn()
			if said.String() != want {
				t.Errorf("after %v it has said %q, want %q", waits, said.String(), want)
			}
		})
	}
}

// A worker whose disk takes nothing keeps some messages, then waits, and drops none. It goes on when there is room.
func TestTrainingWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		broken := func() error { return full }
		r, dir := withRoom(t, 4, func() error { return broken() })
		dropped := 0
		r.d.keeper.Drop = func(int) error { dropped++; return nil }
		blocker := filepath.Join(dir, "frames-00000001") // a folder, where the next file would be
		if err := errors.Join(r.d.keeper.Journal.Sync(0), os.Mkdir(blocker, 0o700)); err != nil {
			t.Fatal(err)
		}
		k := r.d.keeper
		rounds := 0
		for ; rounds < 20 && r.d.oracle.due.x == nil; rounds++ {
			r.round()
			r.written()
		}
		if r.d.oracle.due.x == nil || k.Journal.Held() == 0 {
			t.Fatalf("it trained %d rounds without a disk", rounds)
		}
		if base, next := k.Journal.Span(); base != 0 || next != rounds+1 {
			t.Errorf("messages %d to %d are kept after %d rounds, want all", base, next, rounds)
		}
		if err := os.Remove(blocker); err != nil {
			t.Fatal(err)
		}
		broken = whole
		<-k.retry
		if err := errors.Join(r.d.try(), r.d.advance()); err != nil {
			t.Fatal(err)
		}
		r.written()
		if r.d.oracle.due.x != nil || k.Journal.Held() != 0 {
			t.Errorf("it waits, although there is room: %d bytes are held", k.Journal.Held())
		}
		if !slices.Contains([]int{0, 1}, dropped) {
			t.Errorf("old checkpoints were removed %d times", dropped)
		}
	})
}
