package data

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gossiptrainer/internal/plural"
)

// Trained says on which samples a model was trained, as its file says. Files are read as the model needs them: columns
// and classes are matched by name, and values are scaled as they were in training.
type Trained struct {
	Table            // without names values are matched by position
	Classes []string // in order
	Values  int      // of a sample
	Norm    *Normalization
	Scaled  bool // Norm is known; nil then means that values are used as they are
}

// names returns the names of columns that a file must have.
func (t *Trained) names() []string {
	if t == nil {
		return nil
	}
	return t.Columns
}

// choose returns the columns as a model needs them. names is nil if the table has none.
func (t *Trained) choose(c Columns, names []string) (Columns, error) {
	if t == nil || len(t.Columns) == 0 {
		return c, nil
	}
	if names == nil {
		return c, fmt.Errorf("the model knows its columns by name (%s), and the file has no names", several(t.Columns))
	}
	var missing []string
	for _, name := range t.Columns {
		switch at := slices.Index(names, name); {
		case at < 0:
			missing = append(missing, name)
		case slices.Contains(names[at+1:], name):
			return c, fmt.Errorf("several columns have the name %q, which the model knows", name)
		}
	}
	if len(missing) > 0 {
		return c, fmt.Errorf("columns of the model are missing: %s; the file has %s", several(missing), several(names))
	}
	if c.Features, c.Skip = t.Columns, nil; c.Label == "" && slices.Contains(names, t.Label) {
		c.Label = t.Label
	}
	return c, nil
}

// check refuses labels of a file that are no classes of the model.
func (t *Trained) check(file string, labels tally, name func(text string) string) error {
	if t == nil || len(t.Classes) == 0 {
		return nil
	}
	var unknown []string
	for k, text := range labels.texts {
		if !slices.Contains(t.Classes, name(text)) {
			unknown = append(unknown, fmt.Sprintf("%.40q (%s)", text, plural.Of(labels.rows[k], "row")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return atFile(file, "the model was not trained on the classes of these rows: %s; it knows %s",
		several(unknown), strings.Join(t.Classes, ", "))
}

// scale returns the scaling that the model was trained with.
func (t *Trained) scale(info Info, standardise bool) (*Normalization, error) {
	switch channels := info.Shape.C; {
	case !t.Scaled && standardise:
		return nil, fmt.Errorf("data: %s: the model file has no mean and deviation, and those of another file would be "+
			"wrong: set data.standardise: false and scale the file as for training, or write them into the metadata", info.Name)
	case !t.Scaled:
		return info.Norm, nil
	case t.Norm != nil && (len(t.Norm.Mean) != channels || len(t.Norm.Std) != channels):
		return nil, fmt.Errorf("data: %s: samples have %s, but the model file has means of %d", info.Name,
			plural.Of(channels, "value"), len(t.Norm.Mean))
	}
	return t.Norm, nil
}

// Differs names what two models need differently of their samples, "" if nothing. Columns and scales that one of them
// does not know do not count.
func (t *Trained) Differs(o *Trained) string {
	switch {
	case !slices.Equal(t.Classes, o.Classes):
		return "classes"
	case len(t.Columns) > 0 && len(o.Columns) > 0 && !slices.Equal(t.Columns, o.Columns):
		return "columns"
	case t.Scaled && o.Scaled && !reflect.DeepEqual(t.Norm, o.Norm):
		return "means and deviations"
	case t.First != nil && o.First != nil && *t.First != *o.First:
		return "indices"
	}
	return ""
}
