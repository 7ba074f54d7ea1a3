// Package reports makes what "peer report" prints: the summary or the figure of a run, or a comparison of runs. Of the
// folders of other commands it prints the report of a comparison, the verdicts of a reproduction, or how well two
// comparisons agree.
//
// It trains nothing. It prints only lines about what it does.
package reports

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/lab/reproduce"
	"gossiptrainer/lab/study"
)

// About and Example explain the command.
const (
	About = `sum up and draw a run from its folder, or compare runs

DIR is the folder of a run, finished or not; without one it is the newest in output.dir. Two
or more are compared by their losses. The figure then shows accuracy
and loss on the test set, of the average model where "peer sim" has evaluated it,
else the mean over the replicas. Without output.evaluate it shows the training losses.

The folder of "peer compare" gets a report: a page with tables and figures, figures as
png, svg and pdf (7 inches wide, for a column of 3.3 inches in figures/column), tables
for LaTeX, and all curves as CSV. Times to a target are interpolated between records;
their 95 % intervals cover at least the distance of these. A target of accuracy needs
output.evaluate. For two such folders, such as the same cells by sim and by lab, it
says how well they agree. The folder of "peer reproduce" gets its page of verdicts from the
finished cells, also while it runs.`
	Example = `  peer report
  peer report runs/ring8-20261121-100500 -o loss.png
  peer report runs/ring8-* -o accuracy.png
  peer report fig1
  peer report by-sim by-lab`
)

// An Answer is a result for programs, and its text for people.
type Answer struct {
	Result any // nil: there is nothing to print
	text   func(w io.Writer, width int) error
}

// Write prints the text for a terminal of some width; 0: for no terminal.
func (a Answer) Write(w io.Writer, width int) error { return a.text(w, width) }

// A Maker makes answers.
type Maker struct {
	Talk io.Writer // gets lines about the work
	File string    // of the figure; "": none
}

func (m Maker) say(format string, args ...any) { fmt.Fprintf(m.Talk, format+"\n", args...) }

// Make returns the answer about some folders, or about the newest run in output.dir.
func (m Maker) Make(dirs []string) (Answer, error) {
	if len(dirs) == 0 {
		newest, err := m.newestRun()
		if err != nil {
			return Answer{}, err
		}
		dirs = []string{newest}
	}
	if len(dirs) == 1 && (isComparison(dirs[0]) || isReproduction(dirs[0])) {
		if m.File != "" {
			return Answer{}, advice.Usagef("report: -o %s: the report of a comparison goes into its folder", m.File)
		}
		if isReproduction(dirs[0]) {
			return m.claims(dirs[0])
		}
		return m.study(dirs[0])
	}
	if len(dirs) == 2 && isComparison(dirs[0]) && isComparison(dirs[1]) {
		return agreement(dirs[0], dirs[1])
	}
	runs, err := runfolder.OpenRecords(dirs)
	if err != nil {
		return Answer{}, err
	}
	if m.File != "" {
		if err := m.draw(runs); err != nil {
			return Answer{}, err
		}
	}
	return m.sumUp(runs), nil
}

// newestRun returns the folder of the newest run in output.dir, and prints it.
func (m Maker) newestRun() (string, error) {
	loaded, err := configs.Load(configs.Source{Env: os.Environ()})
	if err != nil {
		return "", err
	}
	newest, of, err := runfolder.Newest(loaded.Config.Output.Dir)
	if err != nil {
		return "", err
	}
	m.say("report of %s, the newest of %d in %s", newest, of, loaded.Config.Output.Dir)
	return newest, nil
}

// sumUp returns the summary of a run, or a table of several.
func (m Maker) sumUp(runs []*record.Run) Answer {
	var finished []*record.Summary
	for _, run := range runs {
		if run.Summary == nil {
			m.say("%s: no summary: the run is still running or was stopped", run.Dir)
			continue
		}
		finished = append(finished, run.Summary)
	}
	switch {
	case len(runs) > 1:
		return Answer{finished, func(w io.Writer, _ int) error {
			if len(finished) > 0 {
				if err := report.WriteRuns(w, finished); err != nil {
					return err
				}
				fmt.Fprintln(w)
			}
			return report.WriteLosses(w, runs)
		}}
	case len(finished) == 1:
		explained := report.Explained{Summary: finished[0], Sentences: runfolder.Explain(runs[0])}
		return Answer{explained, func(w io.Writer, width int) error { return explained.Write(human.Folded(w, width)) }}
	}
	sentences := runfolder.Explain(runs[0]) // of a run without a summary
	return Answer{sentences, func(w io.Writer, width int) error {
		return report.WriteSentences(human.Folded(w, width), sentences)
	}}
}

// draw writes the figure of a run, or of a comparison of several. A figure that fails replaces no file.
func (m Maker) draw(runs []*record.Run) error {
	var figure bytes.Buffer
	var err error
	unscored := slices.IndexFunc(runs, func(r *record.Run) bool { return !r.Scored() })
	switch {
	case len(runs) == 1:
		err = report.WriteFigure(&figure, runs[0], report.Format(m.File))
	case unscored >= 0:
		m.say("%s was not evaluated during training: the figure shows training losses; set output.evaluate for losses on "+
			"the test set", runs[unscored].Dir)
		err = report.WriteLossFigure(&figure, runs, report.Format(m.File))
	default:
		err = report.WriteComparison(&figure, runs, report.Format(m.File))
	}
	if err != nil {
		return advice.Usage(err, "-o loss.png, -o loss.svg or -o loss.pdf")
	}
	return SaveFigure(m.Talk, m.File, figure.Bytes())
}

// SaveFigure writes a figure completely or not at all, and says so.
func SaveFigure(talk io.Writer, file string, figure []byte) error {
	if err := safefile.Write(file, figure, runfolder.Readable); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	fmt.Fprintf(talk, "drew %s, %s\n", file, human.Size(int64(len(figure))))
	return nil
}

// isComparison reports whether a folder was left by peer compare.
func isComparison(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, cells.ComparisonFile))
	return err == nil
}

// isReproduction reports whether a folder was left by peer reproduce.
func isReproduction(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, reproduce.MarkerFile))
	return err == nil
}

// claims judges the claims of a paper by the finished cells of a reproduction.
func (m Maker) claims(dir string) (Answer, error) {
	page, err := reproduce.Judge(dir)
	if err != nil {
		return Answer{}, err
	}
	m.say("%s: %s", page.Path(), page.Tally())
	return Answer{page, func(w io.Writer, _ int) error { return page.Write(w) }}, nil
}

// study writes the report of a comparison and returns its table.
func (m Maker) study(dir string) (Answer, error) {
	found, page, err := study.WriteFiles(dir)
	if err != nil {
		return Answer{}, err
	}
	for _, line := range found.Conclusions() {
		m.say("%s", line)
	}
	for _, line := range found.Caveats() {
		m.say("note: %s", line)
	}
	m.say("report: %s", page)
	return Answer{found.Comparison, func(w io.Writer, _ int) error {
		if err := study.WriteCells(w, found.Comparison); err != nil {
			return err
		}
		return found.WriteTargets(w)
	}}, nil
}

// agreement says how well two comparisons agree.
func agreement(first, second string) (Answer, error) {
	a, err := cells.Read(first)
	if err != nil {
		return Answer{}, err
	}
	b, err := cells.Read(second)
	if err != nil {
		return Answer{}, err
	}
	return Answer{study.Agree(a, b), func(w io.Writer, _ int) error { return study.WriteAgreement(w, a, b) }}, nil
}
