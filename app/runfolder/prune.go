package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
)

// A Prune says which runs are removed.
type Prune struct {
	Keep  int    // finished runs that stay, the newest; negative: no such bound
	Older string // age of runs that are removed, as 30d or 12h; "": no such bound
	Now   time.Time
	Ask   func(question string) (bool, error) // asks the user; nil: go on
	Talk  io.Writer                           // gets the list before the question

	Show func(what string, do func(watch func(done, all int64)) error) error // does a part of the work
}

// A Pruned says which runs are gone.
type Pruned struct {
	Removed []Removed `json:"removed"`
	Bytes   int64     `json:"freed_bytes"`
	Kept    int       `json:"kept"`   // of those that were looked at
	Spared  []string  `json:"spared"` // those among them that are not finished
}

// A Removed is a run that is gone.
type Removed struct {
	Run
	Bytes int64 `json:"bytes"`
}

// Write prints the result for people.
func (p *Pruned) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "removed %s, freed %s\n", human.Count(len(p.Removed), "run"), human.Size(p.Bytes))
	if err == nil && p.Kept > 0 {
		_, err = fmt.Fprintf(w, "kept %s\n", human.Count(p.Kept, "run"))
	}
	if err == nil && len(p.Spared) > 0 {
		_, err = fmt.Fprintf(w, "%d of them %s not finished: only its name removes a stopped or damaged run\n",
			len(p.Spared), human.Verb(len(p.Spared), "is", "are"))
	}
	return err
}

// Do removes runs: those of folders that are runs, by name, or else the old finished ones of one folder, or of
// output.dir. It asks first.
func (p Prune) Do(args []string) (*Pruned, error) {
	done := &Pruned{Removed: []Removed{}, Spared: []string{}}
	chosen, err := p.choose(args, done)
	if err != nil {
		return nil, err
	}
	bytes, err := p.sizes(chosen)
	if err != nil {
		return nil, fmt.Errorf("runs: prune: %w", err)
	}
	if len(chosen) > 0 && p.Ask != nil {
		for _, r := range chosen {
			fmt.Fprintf(p.Talk, "%s  began %s, %s, %s\n", r.Dir, r.Began.Format("2006-01-02 15:04"), r.State,
				human.Size(r.Bytes))
		}
		yes, err := p.Ask(fmt.Sprintf("remove %s and free %s?", human.Count(len(chosen), "run"), human.Size(bytes)))
		if err != nil {
			return nil, err
		}
		if !yes {
			done.Kept += len(chosen)
			return done, nil
		}
	}
	return done, p.Show("removing runs", func(watch func(done, all int64)) error {
		for _, r := range chosen {
			if err := remove(r.Dir); err != nil {
				return fmt.Errorf("runs: prune, after %s: %w", human.Count(len(done.Removed), "run"), err)
			}
			done.Removed, done.Bytes = append(done.Removed, r), done.Bytes+r.Bytes
			watch(done.Bytes, bytes)
		}
		return nil
	})
}

// sizes finds the sizes of runs, and their sum.
func (p Prune) sizes(chosen []Removed) (bytes int64, err error) {
	err = p.Show("adding up sizes", func(watch func(done, all int64)) error {
		for i := range chosen {
			if chosen[i].Bytes, err = size(chosen[i].Dir); err != nil {
				return err
			}
			bytes += chosen[i].Bytes
			watch(int64(i+1), int64(len(chosen)))
		}
		return nil
	})
	return bytes, err
}

// choose returns the runs that go, the newest first.
func (p Prune) choose(args []string, done *Pruned) ([]Removed, error) {
	folder, names, err := split(args)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if p.Keep >= 0 || p.Older != "" {
			return nil, advice.Usagef("runs: prune: names of runs go without --keep and --older-than")
		}
		return byName(names)
	}
	before, err := p.before()
	if err != nil {
		return nil, err
	}
	var list *List
	err = p.Show("reading runs", func(watch func(done, all int64)) error {
		list, err = RunsIn(folder, nil, watch)
		return err
	})
	if err != nil {
		return nil, err
	}
	var chosen []Removed
	finished := 0
	for _, r := range list.Runs {
		if r.State != Finished {
			done.Spared = append(done.Spared, r.Name)
			done.Kept++
			continue
		}
		if finished++; finished > p.Keep && r.Began.Before(before) {
			chosen = append(chosen, Removed{Run: r})
		} else {
			done.Kept++
		}
	}
	return chosen, nil
}

// split tells a folder with runs from runs.
func split(args []string) (folder string, names []string, err error) {
	if len(args) != 1 {
		return "", args, nil
	}
	_, kind, err := Below(args[0])
	switch {
	case err != nil || kind == OneRun:
		return "", args, nil
	case kind == Cells:
		return "", nil, advice.Usagef("runs: prune: %s is a comparison, which needs its cells: remove it as a whole", args[0])
	}
	return args[0], nil, nil
}

// byName returns runs that the user has named. A running one is refused.
func byName(names []string) ([]Removed, error) {
	var chosen []Removed
	for _, name := range names {
		r, err := openNamed(name)
		if err != nil {
			return nil, err
		}
		if r.State == Running {
			return nil, advice.Usage(fmt.Errorf("runs: prune: %s is running", name), "stop it first: Ctrl-C")
		}
		chosen = append(chosen, Removed{Run: r})
	}
	return chosen, nil
}

// before returns the time before which runs are old.
func (p Prune) before() (time.Time, error) {
	if p.Older == "" {
		if p.Keep < 0 {
			return time.Time{}, advice.Usage(errors.New("runs: prune: say which runs"),
				"--keep N, --older-than 30d, or the folders of runs")
		}
		return p.Now.AddDate(1, 0, 0), nil // all, also those of a clock that is fast
	}
	age, err := time.ParseDuration(p.Older)
	if days, ok := strings.CutSuffix(p.Older, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		age = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || age < 0 {
		return time.Time{}, advice.Usage(fmt.Errorf("runs: prune: --older-than %q is no age", p.Older), "as in 30d or 12h")
	}
	return p.Now.Add(-age), nil
}

// size returns the bytes of the files in a folder.
func size(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// remove removes the folder of a run while no process can begin to use it.
func remove(dir string) error {
	lock, err := Lock(dir)
	if err != nil {
		return err
	}
	err = os.RemoveAll(dir)
	_ = lock.Release()
	if err != nil { // some systems remove no file that is open, as the lock is
		err = os.RemoveAll(dir)
	}
	return err
}
