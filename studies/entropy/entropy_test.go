package main

import (
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

func TestSettingsAreAccepted(t *testing.T) {
	for _, r := range rows() {
		if _, err := configs.Load(configs.Source{File: preset, Set: r.settings}); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestResultsOfAPayload(t *testing.T) {
	got := result{name: "zeros", coder: entropy.Huff0}
	p := payload{make([]byte, 1000), quant.Layout{Levels: 2, Count: 8000}}
	p.bytes[3] = 1
	if err := got.add(p, 8000); err != nil {
		t.Fatal(err)
	}
	if got.plain != 1 || got.bits <= 0 || got.bits > 0.2 || got.coding <= 0 || got.decoding <= 0 {
		t.Errorf("%+v", got)
	}
	if text := document([]result{got}, 50); !strings.Contains(text, "| zeros | huff0 | 1.00 | 0.1") ||
		!strings.Contains(text, "--set train.rounds=50") {
		t.Errorf("the document is\n%s", text)
	}
}
