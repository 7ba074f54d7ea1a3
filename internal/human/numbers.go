// Package human writes numbers for people.
package human

import (
	"math"
	"strconv"
)

// Decimal writes v to the place of the last of the given number of digits of scale, without an exponent if v is not too
// large or small.
func Decimal(v, scale float64, digits int) string {
	const least, most = 1e-4, 1e7
	if size := math.Abs(scale); size != 0 && size < least || size >= most || math.Abs(v) >= most {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	place := 0
	if scale != 0 {
		place = max(0, digits-1-int(math.Floor(math.Log10(math.Abs(scale)))))
	}
	return strconv.FormatFloat(v, 'f', place, 64)
}

// Digits writes v to a number of its own digits.
func Digits(v float64, digits int) string { return Decimal(v, v, digits) }

// Beside writes v > 0 to the place of the second digit of half. If v is smaller, it takes v's own second digit, so that
// a positive number is never written as 0.
func Beside(v, half float64) string {
	if v > 0 {
		half = min(half, v)
	}
	return Decimal(v, half, 2)
}
