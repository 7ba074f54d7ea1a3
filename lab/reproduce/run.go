package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/lab/compare"
	"gossiptrainer/lab/study"
)

// Options configure a reproduction. Those of the comparisons apply to each of them; Dir is the folder of all.
type Options struct {
	compare.Options
	Again string                                            // the command line that goes on after a stop
	Fetch func(ctx context.Context, set, root string) error // downloads a data set
}

// A Run runs the parts of a size in a folder.
type Run struct {
	Options
	paper Paper
	size  Size
}

// New checks the options and makes the folder. An empty Dir stands for name-size. Folders with other content are
// refused.
func New(paper Paper, size Size, o Options) (*Run, error) {
	if o.Jobs < 0 {
		return nil, advice.Usagef("reproduce: --jobs %d: want at least 1", o.Jobs)
	}
	if o.Dir == "" {
		o.Dir = paper.Name + "-" + size.Name
	}
	return &Run{o, paper, size}, claim(o.Dir, marker{paper.Name, size.Name})
}

// Do finds the data, runs the parts that are not finished, and writes the page after each. It goes on after a part with
// failed cells, and returns the error of the first.
func (r *Run) Do(ctx context.Context) (*Page, error) {
	if err := r.findData(ctx); err != nil {
		return nil, err
	}
	var failed error
	for i, p := range r.size.Parts {
		fmt.Fprintf(r.Talk, "part %d of %d: %s, in %s\n", i+1, len(r.size.Parts), p.Comparison, r.folder(p))
		err := r.part(ctx, p)
		if _, some := errors.AsType[*compare.CellsError](err); !some && err != nil {
			if ctx.Err() != nil {
				advice.Next(r.Talk, advice.Command("peer", "report", r.Dir), "judge by the finished cells")
			}
			return nil, err
		}
		if failed == nil {
			failed = err
		}
		if _, err := r.Page(); err != nil {
			return nil, err
		}
	}
	page, err := r.Page()
	if err != nil {
		return nil, err
	}
	return page, failed
}

// part runs the comparison of a part, and writes its report.
func (r *Run) part(ctx context.Context, p Part) error {
	file, err := p.load()
	if err != nil {
		return err
	}
	o := r.Options.Options
	o.Dir, o.Set = r.folder(p), p.Set
	m, err := compare.New(file, o)
	if err != nil {
		return err
	}
	if err := m.Do(ctx, r.Again); err != nil {
		return err
	}
	if err := r.report(p); err != nil {
		return err
	}
	if err := m.Failed(); err != nil {
		return err
	}
	return r.stamp(p)
}

func (r *Run) folder(p Part) string { return filepath.Join(r.Dir, p.Name) }

// report writes the report of a part.
func (r *Run) report(p Part) error {
	shown := r.Progress()
	defer shown.Clear()
	shown.Tell("writing the report of "+p.Comparison, time.Now())
	_, _, err := study.WriteFiles(r.folder(p))
	return err
}

// stamp writes the version of a finished part, and that of its results after a slash.
func (r *Run) stamp(p Part) error {
	version, err := p.Version()
	if err != nil {
		return err
	}
	results, err := p.results()
	if err != nil {
		return err
	}
	file := filepath.Join(r.folder(p), versionFile)
	text := fmt.Appendf(nil, "%s/%d\n", version, results)
	if err := safefile.Write(file, text, runfolder.Readable); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}

// findData looks for the data sets of all parts, and fetches those that are missing.
func (r *Run) findData(ctx context.Context) error {
	var seen []string
	for _, p := range r.size.Parts {
		file, err := p.load()
		if err != nil {
			return err
		}
		loaded, err := configs.Load(configs.Source{File: file.Base, Env: os.Environ(), Set: p.Set})
		if err != nil {
			return fmt.Errorf("reproduce: %s: %w", p.Comparison, err)
		}
		if of := loaded.Config.Data; !slices.Contains(seen, of.Name) {
			seen = append(seen, of.Name)
			if err := r.find(ctx, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// find looks for a data set, and fetches it if it is missing.
func (r *Run) find(ctx context.Context, of configs.Data) error {
	root, err := data.Root(of.Dir)
	if err != nil {
		return err
	}
	source, err := data.Open(of.Name, root)
	if err != nil {
		return err
	}
	err = source.Find()
	if _, missing := errors.AsType[*data.MissingError](err); !missing {
		return err
	}
	fmt.Fprintf(r.Talk, "%s is not in %s: fetching it from its publisher\n", of.Name, root)
	failed := r.Fetch(ctx, of.Name, root)
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	return advice.With(fmt.Errorf("%w; it cannot be fetched: %w", err, failed),
		"peer data fetch "+of.Name+", where there is a network; PEER_DATA names the folder of the data sets")
}

// Judge judges the claims by the finished cells in the folder of a reproduction, also while it runs. It writes the page
// and the reports of the parts. The error is fs.ErrNotExist if dir is no such folder.
func Judge(dir string) (*Page, error) {
	m, err := readMarker(dir)
	if err != nil {
		return nil, err
	}
	paper, size, err := Find(m.Name, m.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, MarkerFile), err)
	}
	r := &Run{Options{Options: compare.Options{Dir: dir}}, paper, size}
	for _, p := range size.Parts {
		if _, _, err := study.WriteFiles(r.folder(p)); err != nil && !nothing(err) {
			return nil, err
		}
	}
	return r.Page()
}

// nothing reports whether a part has no finished cell yet.
func nothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, study.ErrNoCell)
}

// Page judges the claims by the parts that have been run, and writes the page.
func (r *Run) Page() (*Page, error) {
	parts, page := map[string]*part{}, &Page{Paper: r.paper, Size: r.size, Dir: r.Dir}
	for _, p := range r.size.Parts {
		study, err := study.Read(r.folder(p))
		if nothing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		parts[p.Name] = &part{p.Name, study}
		page.parts = append(page.parts, parts[p.Name])
	}
	for _, c := range r.paper.Claims {
		page.Claims = append(page.Claims, judge(c, parts))
	}
	for _, p := range r.paper.Printed {
		page.Printed = append(page.Printed, p.beside(parts))
	}
	return page, page.save()
}
