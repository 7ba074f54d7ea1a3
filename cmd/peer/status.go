package main

import (
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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/internal/report"
)

// standings is what "peer status" prints.
type standings struct {
	Peers  []standing `json:"peers"`
	Silent []int      `json:"silent"` // processes that do not answer
}

func newStatus(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "ask the running peers of this machine how they are doing",
		Long: `ask the running peers of this machine how they are doing

RUN is the name of a run; without it, all of this user's peers are asked. If no peer of RUN
answers, the command exits with ` + fmt.Sprint(exitOther) + `.`,
		Example: "  peer status\n  peer status ring8 --json",
		Args:    arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := socketFolder()
			if err != nil {
				return err
			}
			found := askAll(dir)
			if len(args) > 0 {
				return c.statusOf(found, args[0])
			}
			if len(found.Peers)+len(found.Silent) == 0 {
				c.say("no peer is running on this machine")
			}
			return c.print(found, found.write)
		},
	}
	c.addJSON(cmd)
	return cmd
}

// statusOf prints how the peers of one run are doing. That there is none is an error.
func (c *console) statusOf(all standings, run string) error {
	found := standings{Peers: []standing{}, Silent: all.Silent}
	var others []string
	for _, s := range all.Peers {
		if s.Run == run {
			found.Peers = append(found.Peers, s)
		} else if !slices.Contains(others, s.Run) {
			others = append(others, s.Run)
		}
	}
	if err := c.print(found, found.write); err != nil || len(found.Peers) > 0 {
		return err
	}
	return &absentError{run: run, others: others}
}

// An absentError says that no peer of a run is running on this machine.
type absentError struct {
	run    string
	others []string // runs that have peers here
}

func (e *absentError) Error() string {
	return fmt.Sprintf("status: no peer of run %q answers on this machine", e.run)
}

func (e *absentError) Hint() string {
	if len(e.others) == 0 {
		return "no other run has peers here either: start one with peer lab or peer run"
	}
	return "there are peers of " + strings.Join(e.others, ", ")
}

// askAll asks all at once, and removes the sockets of processes that are gone.
func askAll(dir string) standings {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is good
	all := standings{Peers: []standing{}, Silent: []int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, path := range paths {
		wg.Go(func() {
			s, err := ask(path)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				all.Peers = append(all.Peers, s)
			case errors.Is(err, syscall.ECONNREFUSED):
				_ = os.Remove(path)
			case errors.Is(err, os.ErrNotExist):
			default:
				pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".sock"))
				all.Silent = append(all.Silent, pid)
			}
		})
	}
	wg.Wait()
	slices.Sort(all.Silent)
	slices.SortFunc(all.Peers, func(a, b standing) int {
		if a.Folder != b.Folder {
			return strings.Compare(a.Folder, b.Folder)
		}
		return a.Rank - b.Rank
	})
	return all
}

func ask(path string) (standing, error) {
	c, err := net.DialTimeout("unix", path, askTime)
	if err != nil {
		return standing{}, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(askTime)); err != nil {
		return standing{}, err
	}
	var s standing
	err = json.NewDecoder(io.LimitReader(c, 16<<20)).Decode(&s)
	return s, err
}

// write prints a line per peer.
func (s standings) write(w io.Writer) error {
	if len(s.Peers) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "RUN\tPEER\tPEERS\tROUND\tLOSS\tSTATE\tWAITS FOR\tLINKS\tSENT\tRECEIVED\tPID")
		for _, p := range s.Peers {
			fmt.Fprintln(t, strings.Join(p.cells(), "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, pid := range s.Silent {
		fmt.Fprintf(w, "process %d does not answer\n", pid)
	}
	return nil
}

func (s standing) cells() []string {
	rank, loss, waits, up := "-", "-", "-", 0
	if s.Rank >= 0 {
		rank = strconv.Itoa(s.Rank)
	}
	if s.Loss != nil {
		loss = fmt.Sprintf("%.4f", *s.Loss)
	}
	if len(s.Waiting) > 0 {
		waits = strings.Trim(fmt.Sprint(s.Waiting), "[]")
	}
	for _, link := range s.Links {
		if link.Up {
			up++
		}
	}
	state := string(s.State)
	if s.Share > 0 {
		state += fmt.Sprintf(" %.0f %%", 100*s.Share)
	}
	return []string{
		s.Run, rank, fmt.Sprintf("%d/%d", s.Here, s.Peers), fmt.Sprintf("%d/%d", s.Round, s.Rounds), loss, state, waits,
		fmt.Sprintf("%d/%d", up, len(s.Links)), report.Size(s.Sent.Wire), report.Size(s.Received.Wire), strconv.Itoa(s.Pid),
	}
}
