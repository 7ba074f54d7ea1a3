package report

import (
	"math"
	"testing"
)

func TestGeometricMeanAboveZeroIsNeverWrittenAsZero(t *testing.T) {
	for _, test := range []struct {
		g        geomean
		text, to string
	}{
		{geomeanOf([]float64{0.198, 0.404}), "0.28 [0.0030, 26]", "0.0030 to 26"},
		{geomeanOf([]float64{0.511, 0.795}), "0.64 [0.038, 10.6]", "0.038 to 10.6"},
		{geomeanOf([]float64{7.8, 7.19, 7.68}), "7.55 [6.78, 8.41]", "6.78 to 8.41"},
		{geomean{Mean: 1.5, Low: 0, High: 3, N: 2}, "at most 3.00", "at most 3.00"},
		{geomean{Mean: 2, Low: math.NaN(), High: math.NaN(), N: 1}, "2.00", ""},
	} {
		if text := test.g.String(); text != test.text {
			t.Errorf("%+v: want %q, got %q", test.g, test.text, text)
		}
		if test.to != "" && test.g.interval() != test.to {
			t.Errorf("%+v: want the interval %q, got %q", test.g, test.to, test.g.interval())
		}
	}
}
