package data

import (
	"gossiptrainer/model/sample"
)

// sparseRows are the rows of a file in LIBSVM text. Missing values are 0.
type sparseRows struct {
	path     string
	features int // the largest index of the file, or more
}

var _ rows = (*sparseRows)(nil)

// openSparse reads the file for its largest index.
func openSparse(path string, c Columns) (*sparseRows, error) {
	if c.Label != "" || len(c.Features) > 0 || len(c.Skip) > 0 {
		return nil, atFile(path, "LIBSVM text has no columns: data.label, data.features and data.skip do not apply")
	}
	t := &sparseRows{path: path, features: 1}
	return t, withFile(path, func(cur *cursor) error {
		_, err := readLIBSVM(cur, func(_ int, _ float64, features []feature) error {
			if n := len(features); n > 0 {
				t.features = max(t.features, features[n-1].index+1)
			}
			return nil
		})
		return err
	})
}

func (t *sparseRows) form() form {
	return form{format: "LIBSVM", shape: sample.Shape{H: 1, W: 1, C: t.features}, label: "the first field",
		columns: numbered(t.features)}
}

func (t *sparseRows) scan(see func(int, record) error, _ func(*CellError) error) error {
	return withFile(t.path, func(cur *cursor) error {
		values := make([]float32, t.features)
		_, err := readLIBSVM(cur, func(i int, label float64, features []feature) error {
			clear(values)
			for _, f := range features {
				if f.index >= t.features {
					return errChanged
				}
				values[f.index] = f.value
			}
			return see(i, record{label: numberLabel(label), floats: values})
		})
		return err
	})
}
