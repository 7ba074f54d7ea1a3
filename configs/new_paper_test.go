package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The comparison of all algorithms that it knows is one that can be run.
func TestAComparisonForAPaperIsRead(t *testing.T) {
	p := PaperComparison{Base: "ring8-fashion", Algorithms: PaperAlgorithms(), Links: []string{"100mbit/0.15ms", "1mbit"},
		Seeds: 3, Target: "accuracy=0.85"}
	text, err := NewPaper(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "paper.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := LoadComparison(file, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(c.Algorithms) != len(paperRows) || len(c.Networks) != 2 || len(c.Seeds) != 3 {
		t.Errorf("%d algorithms, %d networks, %d seeds:\n%s", len(c.Algorithms), len(c.Networks), len(c.Seeds), text)
	}
}

func TestWhatAPaperLacksIsNamed(t *testing.T) {
	good := PaperComparison{Base: "ring8", Algorithms: []string{"dpsgd"}, Links: []string{"1mbit"}, Seeds: 2,
		Target: "loss=0.5"}
	for want, change := range map[string]func(*PaperComparison){
		`target "0.5"`: func(p *PaperComparison) { p.Target = "0.5" }, "1 seeds": func(p *PaperComparison) { p.Seeds = 1 },
		`link "fast"`:      func(p *PaperComparison) { p.Links = []string{"fast"} },
		`algorithm "chco"`: func(p *PaperComparison) { p.Algorithms = []string{"chco"} },
	} {
		p := good
		change(&p)
		if _, err := NewPaper(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
