package configs

import (
	"fmt"
	"strings"
	"testing"

	"gossiptrainer/internal/registry"
)

// The rules refuse, with key and line, each setting that a row does not allow, and no other.
func TestTheRowsOfAlgorithmsAreTheRules(t *testing.T) {
	settings := []struct {
		key, text string
		allowed   func(a registry.Algorithm) bool
	}{
		{"algorithm.local_steps", "local_steps: 2", func(a registry.Algorithm) bool { return a.Takes.LocalSteps.Given }},
		{"algorithm.order", "order: atc", ordered},
		{"algorithm.clip.radius", "clip: {radius: 2}", clips},
		{"algorithm.gamma", "gamma: 0.5", hasGamma},
		{"algorithm.error_feedback", "error_feedback: true", feedsBack},
		{"algorithm.codec", "codec: moniqua", registry.Algorithm.ByMoniqua},
		{"algorithm.bits", "bits: 4", registry.Algorithm.ByMoniqua},
		{"algorithm.compressor.name", "compressor: {name: sign}", registry.Algorithm.Compresses},
		{"algorithm.theta.rule", "theta: {rule: certified}", func(a registry.Algorithm) bool {
			return a.ByMoniqua() && a.Theta.Certificate != nil
		}},
		{"algorithm.theta.rule", "theta: {rule: theorem}", func(a registry.Algorithm) bool {
			return a.ByMoniqua() && a.Theta.Theorem
		}},
		{"algorithm.controller.name", "controller: {name: mqgrad}", func(a registry.Algorithm) bool {
			return a.Takes.Controller.Given
		}},
	}
	for _, a := range registry.Algorithms() {
		head := "name: " + a.Name
		if a.Form != "" {
			head += ", reduce: " + a.Form
		}
		for _, s := range settings {
			more := "" // settings that theta needs where mixing is clipped
			if s.key == "algorithm.clip.radius" {
				more = "  codec: full\n"
			}
			body := strings.Replace(s.text, ": {", ":\n    ", 1)
			text := fmt.Sprintf("algorithm:\n  %s\n%s  %s\n", strings.ReplaceAll(head, ", ", "\n  "), more,
				strings.TrimSuffix(body, "}"))
			checkAllowed(t, text, s.key, s.allowed(a))
		}
		text := fmt.Sprintf("algorithm: {%s}\nfaults: {on_lost_neighbor: reweight}\n", head)
		checkAllowed(t, text, "faults.on_lost_neighbor", a.Takes.Reweight.Given)
	}
}

func checkAllowed(t *testing.T, text, key string, allowed bool) {
	t.Helper()
	_, err := load(t, text)
	if allowed {
		if err != nil {
			t.Errorf("%s\nis refused: %v", text, err)
		}
		return
	}
	if err == nil {
		t.Errorf("%s\nis accepted", text)
		return
	}
	last := strings.Count(text, "\n")
	if p := problems(t, err); len(p) != 1 || p[0].Key != key || p[0].Line != last {
		t.Errorf("%s\nwant one problem with %s in line %d, got %v", text, key, last, err)
	}
}

// The settings of a compressor are those of its row.
func TestTheRowsOfCompressorsAreTheRules(t *testing.T) {
	settings := map[string]string{
		"bits": "3", "levels": "5", "variant": "sym", "table": "[-1, 1]", "rule": "lloyd", "mode": "stochastic",
		"step": "0.5",
		"k":    "2", "ratio": "0.5", "norm": "l2", "bucket": "7", "clip": "2.5", "refit_at": "[1]", "refit_every": "2",
	}
	for _, c := range registry.Compressors() {
		for setting, value := range settings {
			text := fmt.Sprintf("algorithm:\n  name: naive\n  compressor:\n    name: %s\n", c.Name)
			switch {
			case c.Name == "levels" && setting == "variant":
				text += "    table: [-1, 1]\n"
			case c.Name == "levels" && setting == "table":
				text += "    variant: sym\n"
			case c.Name == "levels":
				text += "    table: [0, 1]\n"
			}
			if setting == "levels" && strings.HasPrefix(c.Name, "amq") {
				value = "6"
			}
			text += fmt.Sprintf("    %s: %s\n", setting, value)
			checkAllowed(t, text, "algorithm.compressor."+setting, c.Has(setting))
		}
	}
}
