package docs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// table returns the rows of a table. The name is that of a document in docs, and head is the heading of the table.
func table(t *testing.T, name, head string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), head+"\n")
	if !found {
		t.Fatalf("%s: no table with the head %s", name, head)
	}
	var all [][]string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		var row []string
		for _, cell := range strings.Split(strings.Trim(line, "|\n"), "|") {
			row = append(row, strings.Trim(cell, " `"))
		}
		all = append(all, row)
	}
	return all
}

func spectrum(t *testing.T, name string, slack float64) (*topology.Graph, topology.Spectrum) {
	t.Helper()
	spec, err := topology.ParseSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	spec.Slack = slack
	g, err := topology.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Spectrum()
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

// short writes a number as the tables do. Numbers near 1e-17 are eigenvalues of 0.
func short(v float64) string {
	if v < 1e-9 && v > -1e-9 {
		v = 0
	}
	return fmt.Sprintf("%.4g", v)
}

func TestSumsAreThoseOfTheTable(t *testing.T) {
	rows := table(t, "math.md",
		"| graph | λ₂ | λₙ | S | S1 | largest slack for D² | theorem | certified, N = 8 | certified, N = 256 |")
	for _, row := range rows {
		g, s := spectrum(t, row[0], 1)
		theorem := moniqua.Theorem{Workers: g.N(), Rho: s.Rho}
		want := []string{row[0]}
		for _, v := range []float64{s.Lambda2, s.LambdaN, s.S, s.S1, s.D2MaxSlack(), theorem.Theta(1, 1)} {
			want = append(want, short(v))
		}
		for _, levels := range []int{8, 256} {
			theta, err := moniqua.Certified{S: s.S, S1: s.S1, Rho: s.Rho, Levels: levels}.Theta(1, 1)
			if err != nil {
				want = append(want, "none")
				continue
			}
			want = append(want, short(theta))
		}
		if !slices.Equal(row, want) {
			t.Errorf("math.md has\n%v, computed is\n%v", row, want)
		}
	}
	equal(t, "graphs in the table", len(rows), 10)
}

func TestSumsOfD2AreThoseOfTheTable(t *testing.T) {
	rows := table(t, "math.md", "| graph | slack | Sg | Se |")
	for _, row := range rows {
		slack, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		g, s := spectrum(t, row[0], slack)
		sg, se, err := g.D2Sums(s)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{row[0], row[1], short(sg), short(se)}; !slices.Equal(row, want) {
			t.Errorf("math.md has\n%v, computed is\n%v", row, want)
		}
	}
	equal(t, "graphs in the table", len(rows), 4)
}

func TestRandomNumbersAreThoseOfTheTable(t *testing.T) {
	key, rows := rng.At(1, 3), table(t, "format/random.md", "| i | raw | u |")
	for i, row := range rows {
		c := uint32(i)
		if want := []string{fmt.Sprint(c), fmt.Sprint(key.Raw(c)), fmt.Sprint(key.Uniform(c))}; !slices.Equal(row, want) {
			t.Errorf("format/random.md has %v, computed is %v", row, want)
		}
	}
	equal(t, "numbers in the table", len(rows), 4)
}

// The grids of the table of rounding modes, as multiples of θ.
func TestGridsAreThoseOfTheTable(t *testing.T) {
	rows := table(t, "math.md", "| mode | u | δ | B | D | smallest N |")
	formula := regexp.MustCompile(`^(\d*)θ?N?/\(?(\d*)N(?: − (\d))?\)?$`)
	for _, row := range rows {
		mode, _, _ := strings.Cut(row[0], "`") // the rest of the cell is text
		rounding, err := moniqua.ParseRounding(mode)
		if err != nil {
			t.Fatal(err)
		}
		const levels = 16
		g := moniqua.Grid{Theta: 1, Levels: levels, Rounding: rounding}
		for i, got := range []float64{g.Delta(), g.Modulus(), g.Step()} {
			parts := formula.FindStringSubmatch(row[2+i])
			if parts == nil {
				t.Fatalf("%s: no formula", row[2+i])
			}
			number := func(text string, otherwise float64) float64 {
				if v, err := strconv.ParseFloat(text, 64); err == nil {
					return v
				}
				return otherwise
			}
			want := number(parts[1], 1) / (number(parts[2], 1)*levels - number(parts[3], 0))
			if strings.Contains(row[2+i], "N/") {
				want *= levels
			}
			equal(t, rounding.String()+": "+row[2+i], got, want)
		}
		least, err := strconv.Atoi(row[5])
		if err != nil {
			t.Fatal(err)
		}
		if rounding.Check(least) != nil || rounding.Check(least-1) == nil {
			t.Errorf("%v: %d levels are not the fewest", rounding, least)
		}
	}
	equal(t, "modes in the table", len(rows), 4)
}

func TestSlackOfTheTheoremIsAsSmallAsTheDocumentSays(t *testing.T) {
	_, s := spectrum(t, "ring:8", 1)
	gap := 1 - s.Rho
	gamma := min(1, 2/(gap+4*64*math.Log(4*8)*math.Log(1000)/gap)) // 16δ²/(1 − 2δ)² is 4 with δ = 1/4
	equal(t, "γ", fmt.Sprintf("%.0e", gamma), "6e-05")
}
