package dash

import (
	"math"
	"strconv"
)

// Digits of the numbers that the page gets: a screen shows fewer, and long numbers cost time to write and to read.
const (
	shownDigits = 6
	exactDigits = 12 // of axes, which may count bytes
)

// A column is numbers as JSON of a few digits, with null for those that are not finite.
type column []float64

// An exact column has more digits.
type exact []float64

func (c column) MarshalJSON() ([]byte, error) { return appendNumbers(c, shownDigits), nil }
func (c exact) MarshalJSON() ([]byte, error)  { return appendNumbers(c, exactDigits), nil }

// appendNumbers writes numbers as an array of JSON.
func appendNumbers(numbers []float64, digits int) []byte {
	text := make([]byte, 0, 2+(digits+3)*len(numbers))
	text = append(text, '[')
	for i, v := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendNumber(text, v, digits)
	}
	return append(text, ']')
}

func appendNumber(text []byte, v float64, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(text, "null"...)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(text, int64(v), 10)
	}
	return strconv.AppendFloat(text, v, 'g', digits, 64)
}

// A figure is one number as JSON of a few digits. An infinite one is null. Figures compare with ==, as NaN does not.
type figure float64

// unknown is the figure that has no value.
func unknown() figure { return figure(math.Inf(1)) }

// figureOf returns a number as a figure, unknown if it is not finite.
func figureOf(v float64) figure {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknown()
	}
	return figure(v)
}

func (f figure) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(f), shownDigits), nil }

// A count is an integer as JSON. A negative one is null.
type count int64

// uncounted is the count that has no value.
const uncounted count = -1

func (c count) MarshalJSON() ([]byte, error) {
	if c < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(c), 10), nil
}
