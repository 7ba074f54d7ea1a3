// Package human writes numbers, nouns after them, tables and long lines for people. Amounts, times and rates have three
// significant digits. Scores, settings and other numbers have four: accuracies on 10,000 rows differ in the fourth. The
// page of peer dash (web/src/format.js) follows the same rules, and testdata/numbers.json tests both.
package human

import (
	"fmt"
	"math"
	"strconv"
	"time"
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

// Number writes a number to four digits, or to the last place of a whole number; a missing one as a dash.
func Number(v *float64) string {
	const whole, large = 999.95, 999_999.5
	if v == nil {
		return "-"
	}
	if size := math.Abs(*v); size >= whole && size < large {
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// Places writes a number to four decimals; a missing one as a dash.
func Places(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}

// Percent writes a share.
func Percent(share float64) string {
	if v := 100 * share; v > 0 && v < 9.95 {
		return fmt.Sprintf("%.2g %%", v)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Seconds writes a time: one of 100 s and more in minutes or hours.
func Seconds(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 0.9995e-3:
		return fmt.Sprintf("%.3g µs", 1e6*s)
	case s < 0.9995:
		return fmt.Sprintf("%.3g ms", 1e3*s)
	case s < 99.95:
		return fmt.Sprintf("%.3g s", s)
	}
	const minute, hour = 60, 3600
	if whole := int64(math.Round(s)); whole < hour {
		return fmt.Sprintf("%d min %02d s", whole/minute, whole%minute)
	}
	minutes := int64(math.Round(s / minute))
	return fmt.Sprintf("%d h %02d min", minutes/minute, minutes%minute)
}

// Clock writes a duration to the second.
func Clock(d time.Duration) string { return d.Round(time.Second).String() }

// Rate writes bits per second.
func Rate(bits float64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%.3g Gbit/s", bits/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%.3g Mbit/s", bits/1e6)
	}
	return fmt.Sprintf("%.3g kbit/s", bits/1e3)
}

// Size writes a number of bytes, in decimal units.
func Size(bytes int64) string {
	v, unit := float64(bytes), 0
	units := [...]string{"B", "kB", "MB", "GB", "TB"}
	for ; math.Abs(v) >= 999.5 && unit < len(units)-1; unit++ {
		v /= 1000
	}
	if unit == 0 || v >= 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64) + " " + units[unit]
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + units[unit]
}
