//go:build !race

// Forecasts load hundreds of cells, and start no goroutines.

package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
)

// The embedded comparisons are runs that can be assembled, with a forecast for each cell of the first seed. Those have
// the first of the settings to be tuned, and the other settings are assembled on the first network.
func TestForecastsAreThoseOfTheFirstSeed(t *testing.T) {
	for _, p := range configs.Comparisons() {
		file, err := configs.LoadComparison(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := Predict(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if want := len(file.Networks) * len(file.Algorithms); len(all) != want {
			t.Errorf("%s: %d forecasts, want %d", p.Name, len(all), want)
		}
		for _, f := range all {
			sends := f.Payload > 0 && f.Wire > f.Payload
			if f.Exchanges < 1 || f.Exchanges > f.Rounds || sends == (f.Network == "one worker") || f.Least < 0 {
				t.Errorf("%s: %+v", p.Name, f)
			}
		}
		var text strings.Builder
		if err := WriteForecasts(&text, all); err != nil || strings.Count(text.String(), "\n") != 1+len(all) {
			t.Errorf("%s: error %v, printed\n%s", p.Name, err, text.String())
		}
		m := &Matrix{file: file, tuned: map[string][]string{}}
		for _, cell := range file.Cells() {
			if cell.Seed != file.Seeds[0] || cell.Network != file.Networks[0].Name {
				continue
			}
			for _, choice := range configs.Combinations(cell.Tune)[1:] {
				tried := cell
				tried.Set = slices.Concat(cell.Set, choice)
				loaded, err := m.load(tried)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := session.Assemble(loaded); err != nil && !errors.As(err, new(*data.MissingError)) {
					t.Errorf("%s: %s: %v", p.Name, tried, err)
				}
			}
		}
	}
}
