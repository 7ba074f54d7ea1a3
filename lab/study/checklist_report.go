package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

func sortedInts(set map[int]bool) []int { return slices.Sorted(maps.Keys(set)) }

func shownFailures(s *Study) (answer, string) {
	diverged, failed, missed := 0, 0, 0
	for _, g := range s.Groups {
		diverged += g.ended(cells.Diverged)
		failed += g.ended(cells.Failed)
		for _, target := range s.Targets.List() {
			if g.tells(target) {
				missed += len(g.runs) - len(g.values(timeOf(target)))
			}
		}
	}
	cells := len(s.Cells)
	var objections []string
	if missing := s.Missing(); len(missing) > 0 {
		objections = append(objections, fmt.Sprintf("%s not been run",
			human.Part(len(missing), len(missing)+cells, "cell")+" "+human.Verb(len(missing), "has", "have")))
	}
	if failed > 0 {
		objections = append(objections, human.Part(failed, cells, "cell")+" failed")
	}
	return unless(objections, fmt.Sprintf("%s diverged, and runs missed a target %s; all keep their rows",
		human.Part(diverged, cells, "cell"), human.Count(missed, "time")))
}

func judgedClaims(s *Study) (answer, string) {
	claims := s.Claims()
	if len(claims) == 0 {
		return notApplicable, "there is nothing to compare with the reference"
	}
	count := verdicts(claims)
	var parts []string
	for _, v := range []Verdict{supported, notSupported, open, notTested} {
		parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
	}
	if count[supported]+count[notSupported] == 0 {
		return notMet, "no interval decides a claim: " + strings.Join(parts, ", ")
	}
	return met, human.Count(len(claims), "claim") + ": " + strings.Join(parts, ", ")
}

func repeatable(s *Study) (answer, string) {
	var objections []string
	for name, value := range map[string]string{"command": s.Command, "version": s.Version, "machine": s.Machine} {
		if value == "" {
			objections = append(objections, "the "+name+" is not on record")
		}
	}
	slices.Sort(objections)
	for _, cell := range s.Cells {
		if cell.Config == "" {
			objections = append(objections, fmt.Sprintf("%s on %s, seed %d: the hash of its settings is not on record",
				cell.Label, cell.Network, cell.Seed))
		}
	}
	records := 0
	for _, g := range s.Groups {
		records += len(g.runs)
	}
	return unless(objections, fmt.Sprintf("version %s, %s, hashes of all settings; peer report makes tables and figures "+
		"again from the folder", s.Version, human.Count(records, "record")))
}

func statedLimits(s *Study) (answer, string) {
	var objections []string
	if s.Machine == "" {
		objections = append(objections, "the machine is not on record")
	}
	sizes := map[int]bool{}
	for _, setup := range s.Setups {
		sizes[setup.Parameters] = true
	}
	if len(sizes) == 0 {
		objections = append(objections, "the size of the model is not on record")
	}
	var words []string
	for _, n := range sortedInts(sizes) {
		words = append(words, grouped(n))
	}
	return unless(objections, fmt.Sprintf("one machine, gradients on its CPU: %s; models of %s parameters", s.Machine,
		strings.Join(words, ", ")))
}

// grouped writes a whole number with a space before each three digits.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u00a0" + text[i:]
	}
	return text
}

func reportedAttempts(s *Study) (answer, string) {
	lost, diverged, refused := 0, 0, 0
	for _, t := range s.Trials {
		switch {
		case t.Loss != nil && !t.Chosen:
			lost++
		case t.Why == "diverged":
			diverged++
		case t.Loss == nil:
			refused++
		}
	}
	ended := 0
	for _, g := range s.Groups {
		ended += g.ended(cells.Diverged)
	}
	if lost+diverged+refused+ended == 0 {
		return notApplicable, "no search lost a setting, and no cell diverged"
	}
	return met, fmt.Sprintf("searches: %d lost, %d diverged, %d refused; %s diverged", lost, diverged, refused,
		human.Part(ended, len(s.Cells), "cell"))
}
