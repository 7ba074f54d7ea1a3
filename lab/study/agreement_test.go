package study

import (
	"bytes"
	"strings"
	"testing"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/record"
)

func TestAgreementOfTwoComparisons(t *testing.T) {
	cell := func(label, digest string, time float64) cells.Cell {
		return cells.Cell{Label: label, Network: "slow", Seed: 1, Status: cells.Done,
			Summary: &record.Summary{Rounds: 10, Time: time, Digest: digest, BytesPerPeer: record.Bytes{Wire: 1_250_000}}}
	}
	networks := []cells.Network{{Name: "slow", Rate: 1e6, Latency: 0.01}}
	first := &cells.Comparison{Mode: "sim", Networks: networks, Cells: []cells.Cell{
		cell("A", "aa", 10), cell("B", "bb", 10), cell("C", "cc", 10), cell("D", "", 10),
		{Label: "E", Network: "slow", Seed: 1, Status: cells.Failed}}}
	second := &cells.Comparison{Mode: "lab", Networks: networks, Cells: []cells.Cell{
		{Label: "E", Network: "slow", Seed: 1, Status: cells.Failed}, cell("D", "", 10), cell("B", "bx", 9),
		cell("A", "aa", 11)}}
	all := Agree(first, second)
	if len(all) != 3 || all[0].Label != "A" || all[1].Label != "B" {
		t.Fatalf("%+v, want the cells that both have, in the order of the first", all)
	}
	if a := all[0]; a.First != 1 || a.Second != 1.1 || a.Least != 1.01 || !a.SameDigest {
		t.Errorf("%+v", a)
	}
	if all[1].SameDigest || all[2].SameDigest {
		t.Errorf("digests that differ or are not known count as the same: %+v", all[1:])
	}
	var text bytes.Buffer
	if err := WriteAgreement(&text, first, second); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MS/ROUND BY sim  BY lab", "1000    1100  1.100     1010  1.089    same", "OTHER"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
