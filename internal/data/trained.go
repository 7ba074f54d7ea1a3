package data

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/model/sample"
)

// Trained says on which samples a model was trained, as its file says. Other samples are read as the model needs them:
// columns and classes are matched by name, and values are scaled as they were in training. The zero value stands
// for a model file without such a description.
type Trained struct {
	Table
	Classes []string       // in order; nil: not known
	Shape   sample.Shape   // of a sample
	Norm    *Normalization // of its values; nil: not known
}

// said reports whether the file of the model describes its samples.
func (t *Trained) said() bool { return t != nil && t.Classes != nil }

// fit returns how files are read for the model.
func (spec FileSpec) fit() (FileSpec, error) {
	t := spec.Trained
	spec.Columns.trained = t
	if !t.said() {
		return spec, nil
	}
	classes, values := ClassNames(t.Classes), t.Shape.Features()
	switch {
	case len(spec.Classes) > 0 && !slices.Equal(spec.Classes, classes):
		return spec, atFile(spec.Path, "data.labels has %s, but the classes of the model are %s", several(spec.Classes),
			several(classes))
	case spec.Features > 0 && spec.Features != values:
		return spec, atFile(spec.Path, "data.dimension is %d, but the model takes %s", spec.Features,
			human.Count(values, "value"))
	}
	spec.Classes, spec.Features = classes, values
	if t.First != nil {
		want := [...]string{ZeroBased, OneBased}[min(1, *t.First)]
		if spec.Indices != "" && spec.Indices != "auto" && spec.Indices != want {
			return spec, atFile(spec.Path, "data.indices is %s, but the model was trained on %s ones", spec.Indices, want)
		}
		spec.Indices = want
	}
	return spec, nil
}

// choose returns the columns as a model needs them. names is nil if the table has none: its columns are then taken by
// their numbers.
func (t *Trained) choose(c Columns, names []string) (Columns, error) {
	if t == nil || len(t.Columns) == 0 || names == nil {
		return c, nil
	}
	var missing []string
	for _, name := range t.Columns {
		at := slices.Index(names, name)
		if of, _, ok := encoded(name, names); at < 0 && ok {
			at, name = of, names[of]
		}
		switch {
		case at < 0:
			missing = append(missing, name)
		case slices.Contains(names[at+1:], name):
			return c, fmt.Errorf("several columns have the name %q, and the model was trained with one", name)
		}
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("there is no column %s among %s, and the model was trained with it",
			strings.Join(missing, " or "), several(names))
	}
	for _, ref := range c.Features {
		if slices.Contains(names, ref) && !slices.Contains(t.Columns, ref) {
			return c, fmt.Errorf("data.features: the model was not trained with %s, but with %s", ref, several(t.Columns))
		}
	}
	for _, ref := range c.Skip {
		if slices.Contains(t.Columns, ref) {
			return c, fmt.Errorf("data.skip: the model was trained with the column %s", ref)
		}
	}
	if c.Features, c.Skip = t.Columns, nil; !slices.Contains(names, c.Label) && slices.Contains(names, t.Label) {
		c.Label = t.Label
	}
	return c, nil
}

// check refuses samples of another form than those of the model.
func (t *Trained) check(f rows) error {
	if !t.said() {
		return nil
	}
	have, wanted := f.form(), form{shape: t.Shape}
	pixels := t.Norm != nil && t.Norm.Scale != 1
	switch {
	case have.shape != t.Shape:
		return atFile(f.file(), "samples of %s values (%s), but the model takes %s", shapeText(have), have.format,
			shapeText(wanted))
	case t.Norm == nil:
		return nil
	case have.pixels && !pixels:
		return atFile(f.file(), "samples are bytes, but the model has learnt from numbers: save them as float32")
	case pixels && !have.pixels:
		return atFile(f.file(), "samples are numbers, but the model has learnt from bytes: save them as uint8")
	}
	return nil
}

// checkLabels refuses labels of a file that are no classes of the model.
func (t *Trained) checkLabels(file string, labels tally, name func(text string) string, classes []string) error {
	if !t.said() {
		return nil
	}
	var unknown []string
	for k, text := range labels.texts {
		if !slices.Contains(classes, name(text)) {
			unknown = append(unknown, fmt.Sprintf("%.40q (%s)", text, human.Count(labels.rows[k], "row")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return atFile(file, "the model was not trained on the classes of these rows: %s; its classes are %s: write the "+
		"labels as in training, or name their column with data.label", several(unknown), several(classes))
}

// scale returns the scaling that the model was trained with; standardise asks for one.
func (t *Trained) scale(info Info, standardise bool) (*Normalization, error) {
	switch n := t.Norm; {
	case n == nil && standardise:
		return nil, atFile(info.Name, "the model file has no mean and deviation of its training, and those of other "+
			"samples would be wrong: scale the file as for training and set data.standardise: false, or write them into "+
			"the metadata input")
	case n == nil:
		return info.Norm, nil
	case !n.plain():
		return n, nil
	case standardise:
		return nil, atFile(info.Name, "the model was trained without data.standardise: set it to false")
	}
	return info.Norm, nil
}

// plain reports whether means are 0 and deviations 1.
func (n *Normalization) plain() bool {
	return !slices.ContainsFunc(n.Mean, func(v float64) bool { return v != 0 }) &&
		!slices.ContainsFunc(n.Std, func(v float64) bool { return v != 1 })
}

// notes says what of a file could not be matched by name.
func (t *Trained) notes(f rows, standardise bool) (notes []Note) {
	add := func(text string) { notes = append(notes, Note{f.file(), f.file() + ": " + text, true}) }
	switch made := f.form(); {
	case t == nil:
		return nil
	case !t.said():
		add("the model file does not say on which samples it was trained: columns and classes are taken in the order of " +
			"this file")
		return notes
	case len(t.Columns) > 0 && !made.named:
		add("the columns have no names: they are taken in the order of the training, " + several(t.Columns))
	case len(t.Columns) == 0 && made.named:
		add("the model knows no names of columns: they are taken in the order of this file, " + several(made.columns))
	}
	if t.Norm != nil && !t.Norm.plain() && !standardise {
		add("values are scaled with the mean and deviation of the model, as in its training")
	}
	return notes
}

// Differs names what two models need differently of their samples, "" if nothing. It leaves out what one of them does
// not know.
func (t *Trained) Differs(o *Trained) string {
	switch {
	case !t.said() || !o.said():
		return ""
	case t.Shape != o.Shape:
		return "shapes of samples"
	case !slices.Equal(t.Classes, o.Classes):
		return "classes"
	case len(t.Columns) > 0 && len(o.Columns) > 0 && !slices.Equal(t.Columns, o.Columns):
		return "columns"
	case t.Norm != nil && o.Norm != nil && !reflect.DeepEqual(t.Norm, o.Norm):
		return "means and deviations"
	case t.First != nil && o.First != nil && *t.First != *o.First:
		return "indices"
	}
	return ""
}

// AdoptTrained makes a set with a name fit a model: it scales values as in the model's training, and refuses other
// classes. Where the shape of samples differs, the layers of the model do so too, and say it.
func (s *Source) AdoptTrained(t *Trained) error {
	if !t.said() || s.Info.Shape != t.Shape {
		return nil
	}
	if !slices.Equal(ClassNames(s.Info.Classes), ClassNames(t.Classes)) {
		return fmt.Errorf("data: %s: its classes are %s, but the model was trained on %s", s.Info.Name,
			several(s.Info.Classes), several(t.Classes))
	}
	switch {
	case t.Norm == nil:
	case s.Info.Pixels != (t.Norm.Scale != 1) || !s.Info.Pixels && !t.Norm.plain():
		return fmt.Errorf("data: %s: its values are not scaled as those that the model was trained on", s.Info.Name)
	case s.Info.Pixels:
		s.Info.Norm = t.Norm
	}
	return nil
}
