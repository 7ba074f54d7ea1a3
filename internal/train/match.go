package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model"
)

// A LayoutError says that a model file has other tensors than it should.
type LayoutError struct {
	File   string        // its path
	Other  string        // what it should fit
	Got    []model.Param // of the file
	Wanted []model.Param
}

// Error names the tensors that differ, and lists both sides.
func (e *LayoutError) Error() string { return e.Short() + "\n  " + strings.Join(e.Lists(), "\n  ") }

// Short names the tensors that differ, at most a few.
func (e *LayoutError) Short() string {
	return fmt.Sprintf("%s does not fit %s: %s", e.File, e.Other, e.differences())
}

// Lists returns a line for each side with all its tensors.
func (e *LayoutError) Lists() []string {
	return []string{e.File + " has: " + listed(e.Got), e.Other + " has: " + listed(e.Wanted)}
}

func (e *LayoutError) differences() string {
	const most = 3
	got, wanted := byName(e.Got), byName(e.Wanted)
	var all []string
	for _, p := range e.Wanted {
		if have, there := got[p.Name]; !there {
			all = append(all, "it lacks "+p.Name)
		} else if !slices.Equal(have.Shape, p.Shape) {
			all = append(all, fmt.Sprintf("%s has the shape %s, want %s", p.Name, shape(have), shape(p)))
		}
	}
	for _, p := range e.Got {
		if _, there := wanted[p.Name]; !there {
			all = append(all, "it has "+p.Name+" beyond")
		}
	}
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(all, ", ")
}

func byName(layout []model.Param) map[string]model.Param {
	all := make(map[string]model.Param, len(layout))
	for _, p := range layout {
		all[p.Name] = p
	}
	return all
}

// listed writes a layout.
func listed(layout []model.Param) string {
	if len(layout) == 0 {
		return "no tensors"
	}
	words := make([]string, len(layout))
	for i, p := range layout {
		words[i] = p.Name + " " + shape(p)
	}
	return strings.Join(words, ", ")
}

// shape writes a shape as PyTorch does.
func shape(p model.Param) string {
	sizes := make([]string, len(p.Shape))
	for i, n := range p.Shape {
		sizes[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(sizes, ", ") + "]"
}

// Match checks that a file at path has the tensors of a layout, in any order. The error is a *LayoutError; other names
// what the layout belongs to.
func (s Saved) Match(want []model.Param, path, other string) error {
	got := byName(s.Layout)
	fits := len(got) == len(want)
	for _, p := range want {
		have, there := got[p.Name]
		fits = fits && there && slices.Equal(have.Shape, p.Shape)
	}
	if fits {
		return nil
	}
	return &LayoutError{File: path, Other: other, Got: s.Layout, Wanted: want}
}

// Ordered returns the numbers in the order of a layout that Match has accepted. It fails if one is not finite.
func (s Saved) Ordered(want []model.Param) ([]float32, error) {
	got := byName(s.Layout)
	y := make([]float32, 0, len(s.X))
	for _, p := range want {
		from := got[p.Name]
		part := s.X[from.Off:][:p.Len()]
		if i := slices.IndexFunc(part, notFinite); i >= 0 {
			return nil, fmt.Errorf("tensor %s: element %d is %v: want finite numbers", p.Name, i, part[i])
		}
		y = append(y, part...)
	}
	return y, nil
}

func notFinite(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }
