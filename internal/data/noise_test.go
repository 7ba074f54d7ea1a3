package data

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// noisy returns a set with the labels of labelled.
func noisy(n, classes int) Set {
	y := labelled(n, classes)
	return Set{labels: y.Of, Classes: y.Classes}
}

// differing returns where the labels of two sets differ.
func differing(a, b Set) (at []int) {
	for k := range a.labels {
		if a.labels[k] != b.labels[k] {
			at = append(at, k)
		}
	}
	return at
}

func TestNoiseChangesExactlyTheShare(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		classes := rapid.IntRange(2, 12).Draw(r, "classes")
		s := noisy(rapid.IntRange(1, 600).Draw(r, "samples"), classes)
		n := Noise{Seed: rapid.Uint64().Draw(r, "seed"), Worker: rapid.IntRange(0, 9).Draw(r, "worker"),
			Share: rapid.Float64Range(0, 1).Draw(r, "share")}
		before := slices.Clone(s.labels)
		after := n.Apply(s, nil)
		if changed := differing(s, after); len(changed) != n.Count(s.Len()) {
			r.Errorf("%d of %d labels changed, want %d", len(changed), s.Len(), n.Count(s.Len()))
		}
		if !slices.Equal(before, s.labels) {
			r.Error("the labels of the set itself changed")
		}
		for k, label := range after.labels {
			if int(label) >= classes {
				r.Errorf("sample %d has the label %d of %d", k, label, classes)
			}
		}
	})
}

// A worker's noise depends on seed, worker and row: not on its neighbours, and a larger share adds to a smaller one.
func TestNoiseIsAddressed(t *testing.T) {
	s := noisy(500, 10)
	of := func(n Noise) []int { return differing(s, n.Apply(s, nil)) }
	base := Noise{Seed: 1, Worker: 2, Share: 0.2}
	few, many := of(base), of(Noise{Seed: 1, Worker: 2, Share: 0.4})
	for _, k := range few {
		if !slices.Contains(many, k) {
			t.Errorf("row %d is changed at 0.2, not at 0.4", k)
		}
	}
	if slices.Equal(few, of(Noise{Seed: 1, Worker: 3, Share: 0.2})) || slices.Equal(few, of(Noise{Seed: 2, Worker: 2,
		Share: 0.2})) {
		t.Error("another worker or seed changes the same rows")
	}
	rows := make([]int, 100) // every fifth row of the set: wrong labels follow the row, not the position
	for k := range rows {
		rows[k] = 5 * k
	}
	all := Noise{Seed: 1, Worker: 2, Share: 1}
	part, whole := all.Apply(s.subsetOfLabels(rows), rows), all.Apply(s, nil)
	for k, row := range rows {
		if part.labels[k] != whole.labels[row] {
			t.Errorf("row %d has the label %d in a part and %d in the whole", row, part.labels[k], whole.labels[row])
		}
	}
}

func (s Set) subsetOfLabels(rows []int) Set {
	labels := make([]uint8, len(rows))
	for k, row := range rows {
		labels[k] = s.labels[row]
	}
	s.labels = labels
	return s
}

// All other labels are equally likely.
func TestNoiseIsUniform(t *testing.T) {
	s := noisy(9000, 10)
	after := Noise{Seed: 5, Share: 1}.Apply(s, nil)
	counts := make([]int, 10) // by the distance from the label that it was
	for k, label := range after.labels {
		counts[(int(label)-int(s.labels[k])+10)%10]++
	}
	if counts[0] != 0 || slices.Min(counts[1:]) < 850 || slices.Max(counts) > 1150 {
		t.Errorf("labels by distance %v, want none at 0 and about 1000 elsewhere", counts)
	}
}
