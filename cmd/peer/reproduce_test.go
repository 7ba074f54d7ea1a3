//go:build !race

// The race detector sees reproductions in the tests of lab/reproduce.

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/internal/cells"
	"gossiptrainer/lab/compare"
	"gossiptrainer/lab/reproduce"
)

const tinyComparison = `
name: tiny
base: ring8
mode: sim
compute: 5ms
networks: [{name: slow, rate: 1mbit, latency: 1ms, set: {output: {every: 5}}}]
algorithms:
  - {label: D-PSGD, name: dpsgd, bits: 32, set: {topology: {size: 3}}}
  - {label: Moniqua, name: dpsgd, codec: moniqua, bits: 8, set: {topology: {size: 3}}}
  - {label: Wild, name: dpsgd, bits: 32, set: {topology: {size: 3}, train: {step_size: 1e6}}}
seeds: [1, 2]
budget: {rounds: 40}
report: {targets: {loss: 0.8}}
`

// tinyPaper is a paper whose comparison takes seconds.
func tinyPaper(file string) reproduce.Paper {
	part := []string{"fig1"}
	return reproduce.Paper{
		Name: "tiny", Title: "Tiny", Source: "https://example.org",
		Sizes: []reproduce.Size{{Name: reproduce.Minutes, About: "Tiny.", Parts: []reproduce.Part{
			{Name: "fig1", Comparison: file, Set: []string{"output.every=1"}},
		}}},
		Claims: []reproduce.Claim{
			{Words: "Moniqua is sooner.", Place: "figure 1", Checks: []reproduce.Check{
				{Kind: reproduce.Sooner, In: part, Network: "slow", A: []string{"Moniqua"}, B: []string{"D-PSGD"}}}},
			{Words: "Moniqua is later.", Place: "figure 2", Checks: []reproduce.Check{
				{Kind: reproduce.Sooner, In: part, A: []string{"D-PSGD"}, B: []string{"Moniqua"}}}},
			{Words: "Moniqua sends a quarter.", Place: "section 2", Checks: []reproduce.Check{
				{Kind: reproduce.Fewer, In: part, A: []string{"Moniqua"}, B: []string{"D-PSGD"}, By: 3.5}}},
			{Words: "Both converge.", Place: "section 3", Checks: []reproduce.Check{
				{Kind: reproduce.Converges, In: part, A: []string{"Moniqua", "D-PSGD"}}}},
			{Words: "Large steps diverge.", Place: "section 4", Checks: []reproduce.Check{
				{Kind: reproduce.Diverges, In: part, A: []string{"Wild"}, By: 0.1}}},
			{Words: "It is simple.", Place: "section 5", Note: "Nobody measures it."},
		},
	}
}

// tinyRun reproduces the tiny paper in a folder.
func tinyRun(t *testing.T, dir, program string, talk io.Writer) *reproduce.Run {
	t.Helper()
	file := filepath.Join(dir, "tiny.yaml")
	if err := os.WriteFile(file, []byte(tinyComparison), 0o666); err != nil {
		t.Fatal(err)
	}
	paper := tinyPaper(file)
	run, err := reproduce.New(paper, paper.Sizes[0], reproduce.Options{Options: compare.Options{
		Dir:     filepath.Join(dir, "out"),
		Process: compare.Process{Program: program, Failed: exitOther, Diverged: exitTraining},
		Talk:    talk, Progress: func() compare.Progress { return newConsole().newProgress() },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A reproduction runs its cells, judges every claim and writes a page. Started again it runs none, and writes the same.
func TestReproduce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	again := func() (*reproduce.Page, string, string) {
		var talk bytes.Buffer
		page, err := tinyRun(t, dir, program, &talk).Do(t.Context())
		if err != nil {
			t.Fatalf("%v\n%s", err, &talk)
		}
		text, err := os.ReadFile(page.Path())
		if err != nil {
			t.Fatal(err)
		}
		return page, string(text), talk.String()
	}
	page, first, talk := again()
	for i, want := range []reproduce.Verdict{reproduce.Supported, reproduce.Contradicted, reproduce.Supported,
		reproduce.Supported, reproduce.Supported, reproduce.Untested} {
		if got := page.Claims[i]; got.Verdict != want {
			t.Errorf("%s %s, want %s: %+v", got.Words, got.Verdict, want, got.Evidence)
		}
	}
	for _, cell := range page.Claims[0].Evidence[0].Cells {
		if _, err := os.Stat(filepath.Join(page.Dir, cell, "cell.json")); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(page.Dir, "fig1", cells.ReportFolder, "index.html")); err != nil {
		t.Error(err)
	}
	if !strings.Contains(first, `src="fig1/report/figures/loss-slow.svg"`) {
		t.Errorf("the page shows no figure:\n%s", first)
	}
	if !strings.Contains(talk, "part 1 of 1: ") {
		t.Errorf("it said\n%s", talk)
	}
	_, second, talk := again()
	if first != second {
		t.Error("the page differs when nothing was run")
	}
	if !strings.Contains(talk, "6 of 6 cells are finished") {
		t.Errorf("it said\n%s", talk)
	}
}

// Cells that fail are no reason to judge nothing: their claims are not tested.
func TestReproduceWithFailedCells(t *testing.T) {
	dir := t.TempDir()
	page, err := tinyRun(t, dir, filepath.Join(dir, "nothing"), io.Discard).Do(t.Context())
	if _, ok := errors.AsType[*compare.CellsError](err); !ok || exitCode(err) != exitCells {
		t.Fatalf("error %v", err)
	}
	for _, c := range page.Claims {
		if c.Verdict != reproduce.Untested {
			t.Errorf("%s %s: %+v", c.Words, c.Verdict, c.Evidence)
		}
	}
}

// An ear calls a function at the first text with a word.
type ear struct {
	word string
	call func()
}

func (e ear) Write(text []byte) (int, error) {
	if strings.Contains(string(text), e.word) {
		e.call()
	}
	return len(text), nil
}

// The folder of a reproduction that was stopped has evidence of the cells that are finished. One seed is not judged.
func TestAStoppedReproductionIsJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	program, err := exec.LookPath("peer")
	if err != nil {
		t.Fatal(err)
	}
	for word, cells := range map[string]bool{"part 1 of 1": false, "cell 6 of 6": true} {
		ctx, stop := context.WithCancel(t.Context())
		run := tinyRun(t, t.TempDir(), program, ear{word, stop})
		if _, err := run.Do(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %q: error %v", word, err)
		}
		page, err := run.Page()
		if err != nil {
			t.Fatal(err)
		}
		evidence := page.Claims[2].Evidence
		if seen := len(evidence) > 0 && len(evidence[0].Cells) > 0; seen != cells {
			t.Errorf("stopped at %q: %+v", word, page.Claims[2])
		}
	}
}

// "peer report" judges by the finished cells of a folder of "peer reproduce".
func TestReportOfAReproduction(t *testing.T) {
	dir := t.TempDir()
	marker := filepath.Join(dir, reproduce.MarkerFile)
	if err := os.WriteFile(marker, []byte(`{"name":"d2","size":"night"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("peer", "report", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), reproduce.PageFile+": ") ||
		!strings.Contains(string(out), "not tested at this size") {
		t.Errorf("error %v:\n%s", err, out)
	}
	if err := os.WriteFile(marker, []byte(`{"name":"d3","size":"night"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err = exec.Command("peer", "report", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), reproduce.MarkerFile) || !strings.Contains(string(out), "d3") {
		t.Errorf("error %v:\n%s", err, out)
	}
}
