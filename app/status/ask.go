// Package status reports the state of the running peers of this machine. Each peer answers at a socket that only its
// user can open, and at an address for Prometheus if it has one.
package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
)

// Answers is the output of "peer status".
type Answers struct {
	Peers  []Answer `json:"peers"`
	Silent []int    `json:"silent"` // processes that do not answer
	// Why has sentences about each run of the peers, by folder.
	Why []Why `json:"why"`
	// Views has what each member knows where members come and go.
	Views []*Membership `json:"views,omitempty"`
}

// Why says why a run is slow.
type Why struct {
	Run       string             `json:"run"`
	Folder    string             `json:"folder"`
	Sentences []explain.Sentence `json:"sentences"` // the most important first
}

// explain adds the sentences about the runs of the peers.
func (all *Answers) explain() {
	all.Why = []Why{}
	for i := 0; i < len(all.Peers); {
		from := i
		for i++; i < len(all.Peers) && all.Peers[i].Folder == all.Peers[from].Folder; i++ {
		}
		peers := all.Peers[from:i]
		all.Why = append(all.Why, Why{peers[0].Run, peers[0].Folder, explain.Sentences(recordOf(peers))})
	}
}

// recordOf returns what the peers of a run know of its record, which is the newest account of every worker. That of the
// worker itself has its bytes, and counts before those of others.
func recordOf(peers []Answer) *explain.Record {
	newest := map[int]record.Links{}
	workers := 0
	for _, p := range peers {
		workers = max(workers, p.Peers)
		for _, account := range p.Accounts {
			if old, known := newest[account.Rank]; !known || account.Round > old.Round || account.Rank == p.Rank {
				newest[account.Rank] = account
			}
		}
	}
	r := explain.NewRecord(explain.Facts{Workers: workers})
	for _, account := range newest {
		r.See(record.Event{Links: &account})
	}
	return r
}

// An absentError says that no peer of a run is running on this machine.
type absentError struct {
	run    string
	others []string // runs that have peers here
}

func (e *absentError) Error() string {
	return fmt.Sprintf("status: no peer of run %q answers on this machine", e.run)
}

// Hint names the runs that have peers here.
func (e *absentError) Hint() string {
	if len(e.others) == 0 {
		return "no other run has peers here either: start one with peer lab or peer run"
	}
	return "there are peers of " + strings.Join(e.others, ", ")
}

// AskAll asks all at once, and removes the sockets of processes that are gone.
func AskAll(dirs ...string) Answers {
	var paths []string
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "*"+ending)) // the pattern is good
		paths = append(paths, found...)
	}
	all := Answers{Peers: []Answer{}, Silent: []int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, path := range paths {
		wg.Go(func() {
			s, membership, err := askStatus(path)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				all.Peers = append(all.Peers, s)
				if membership != nil {
					all.Views = append(all.Views, membership)
				}
			case errors.Is(err, syscall.ECONNREFUSED):
				_ = os.Remove(path)
			case errors.Is(err, os.ErrNotExist):
			default:
				pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ending))
				all.Silent = append(all.Silent, pid)
			}
		})
	}
	wg.Wait()
	slices.Sort(all.Silent)
	slices.SortFunc(all.Peers, func(a, b Answer) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), a.Rank-b.Rank)
	})
	slices.SortFunc(all.Views, func(a, b *Membership) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), cmp.Compare(a.Member, b.Member))
	})
	all.explain()
	return all
}

// ask asks the process at a socket, and returns its answer.
func ask(path, word string) (json.RawMessage, error) {
	c, err := net.DialTimeout("unix", path, askTime)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(askTime)); err != nil {
		return nil, err
	}
	_, _ = io.WriteString(c, word) // another version of the program may have answered and closed already
	var text json.RawMessage
	err = json.NewDecoder(io.LimitReader(c, 16<<20)).Decode(&text)
	return text, err
}

// askStatus asks the process at a socket how it is doing.
func askStatus(path string) (s Answer, membership *Membership, err error) {
	text, err := ask(path, asksStatus)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	var more withMembers
	if err == nil {
		err = json.Unmarshal(text, &more)
	}
	return s, more.Membership, err
}

// Of returns the answers of the peers of one run. The error is an *absentError if there are none; silent processes are
// returned nevertheless.
func (all Answers) Of(run string) (Answers, error) {
	found := Answers{Peers: []Answer{}, Silent: all.Silent, Why: []Why{}}
	var others []string
	for _, s := range all.Peers {
		if s.Run == run {
			found.Peers = append(found.Peers, s)
		} else if !slices.Contains(others, s.Run) {
			others = append(others, s.Run)
		}
	}
	for _, membership := range all.Views {
		if membership.Run == run {
			found.Views = append(found.Views, membership)
		}
	}
	for _, why := range all.Why {
		if why.Run == run {
			found.Why = append(found.Why, why)
		}
	}
	if len(found.Peers) == 0 {
		return found, &absentError{run: run, others: others}
	}
	return found, nil
}

// Write prints a line per peer, and the sentences folded to the width of the terminal; 0: there is none.
func (s Answers) Write(w io.Writer, width int) error {
	if len(s.Peers) > 0 {
		t := human.AlignLeft(w)
		fmt.Fprintln(t, "RUN\tPEER\tPEERS\tROUND\tLOSS\tSTATE\tWAITS FOR\tLINKS\tSENT\tRECEIVED\tPID")
		for _, p := range s.Peers {
			fmt.Fprintln(t, strings.Join(p.cells(), "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, membership := range newest(s.Views) {
		if err := membership.write(human.Folded(w, width)); err != nil {
			return err
		}
	}
	for _, why := range s.Why {
		if err := report.WriteSentences(human.Folded(w, width), why.Sentences); err != nil {
			return err
		}
	}
	for _, pid := range s.Silent {
		fmt.Fprintf(w, "process %d does not answer\n", pid)
	}
	return nil
}

func (s Answer) cells() []string {
	rank, waits, up, needed := "-", "-", 0, 0
	if s.Rank >= 0 {
		rank = strconv.Itoa(s.Rank)
	}
	if len(s.Waiting) > 0 {
		waits = strings.Trim(fmt.Sprint(s.Waiting), "[]")
	}
	for _, link := range s.Links {
		if link.Up {
			up++
		}
		if !link.Resting {
			needed++
		}
	}
	state := string(s.State)
	if s.Share > 0 {
		state += fmt.Sprintf(" %.0f %%", 100*s.Share)
	}
	return []string{
		s.Run, rank, fmt.Sprintf("%d/%d", s.Here, s.Peers), human.Fraction(s.Round, configs.Rounds(s.Rounds).Known()),
		human.Places(s.Loss), state, waits,
		fmt.Sprintf("%d/%d", up, needed), human.Size(s.Sent.Wire), human.Size(s.Received.Wire), strconv.Itoa(s.Pid),
	}
}
