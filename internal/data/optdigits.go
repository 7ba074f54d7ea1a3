package data

// The form of "Optical Recognition of Handwritten Digits", E. Alpaydin and
// C. Kaynak (1998), UCI Machine Learning Repository: comma-separated integers,
// 64 pixels 0..16 row after row, then the digit.

import (
	"bufio"
	"bytes"

	"gossiptrainer/model/sample"
)

const optdigitsInk = 16 // largest pixel

func optdigitsInfo() Info {
	i := Info{
		Name: "optdigits", Title: "optical recognition of handwritten digits, 8×8", Home: "https://doi.org/10.24432/C50P49",
		Terms: "CC BY 4.0 (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository)",
		Shape: sample.Shape{H: 8, W: 8, C: 1}, Classes: digits(), Train: 3_823, Test: 1_797,
		Pixels: true, Norm: &Normalization{Scale: optdigitsInk, Mean: []float64{0}, Std: []float64{1}},
		Files: []File{
			file("optdigits.tra", 563_639, "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd"),
			file("optdigits.tes", 264_712, "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"),
		},
	}
	return i.from("https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits/")
}

// optdigitsReader reads the two files of the set.
type optdigitsReader struct {
	info Info
	dir  string
}

var _ reader = optdigitsReader{}

func (r optdigitsReader) labels(p part) ([]uint8, error) {
	var y []uint8
	err := r.scan(p, func(_ int, label uint8, _ []uint8) { y = append(y, label) })
	return y, err
}

func (r optdigitsReader) fill(p part, b *builder) error {
	return r.scan(p, func(i int, label uint8, pixels []uint8) { copy(b.bytes(i, label), pixels) })
}

func (r optdigitsReader) scan(p part, visit func(i int, label uint8, pixels []uint8)) error {
	path, err := locate(r.info.Name, r.dir, [...]string{"optdigits.tra", "optdigits.tes"}[p])
	if err != nil {
		return err
	}
	rows := [...]int{r.info.Train, r.info.Test}[p]
	return withFile(path, func(c *cursor) error {
		return readDigitsCSV(c, rows, r.info.Shape.Features(), visit)
	})
}

// readDigitsCSV reads lines of `features` pixels 0..16 and a label 0..9; there must
// be the given number of them. pixels is valid during the call.
func readDigitsCSV(c *cursor, rows, features int, visit func(i int, label uint8, pixels []uint8)) error {
	lines := bufio.NewScanner(c)
	values := make([]uint8, 0, features+1)
	row := 0
	for lines.Scan() {
		if row == rows {
			return atLine(c.file, row+1, "the file continues where it should end")
		}
		values = values[:0]
		for field := range bytes.SplitSeq(lines.Bytes(), []byte{','}) {
			limit := uint8(optdigitsInk)
			if len(values) == features {
				limit = 9
			}
			v, ok := smallNumber(field, limit)
			if !ok || len(values) > features {
				return atLine(c.file, row+1, "field %d: %.20q: want %d numbers 0..%d and a label 0..9",
					len(values)+1, field, features, optdigitsInk)
			}
			values = append(values, v)
		}
		if len(values) != features+1 {
			return atLine(c.file, row+1, "%d fields, want %d", len(values), features+1)
		}
		visit(row, values[features], values[:features])
		row++
	}
	if err := lines.Err(); err != nil {
		return atLine(c.file, row+1, "%w", err)
	}
	if row != rows {
		return atLine(c.file, row+1, "the file ends after %d rows, want %d", row, rows)
	}
	return nil
}

// smallNumber parses a decimal number of at most two digits, 0..limit.
func smallNumber(s []byte, limit uint8) (uint8, bool) {
	if len(s) == 0 || len(s) > 2 {
		return 0, false
	}
	v := uint8(0)
	for _, d := range s {
		if d < '0' || d > '9' {
			return 0, false
		}
		v = 10*v + d - '0'
	}
	return v, v <= limit
}
