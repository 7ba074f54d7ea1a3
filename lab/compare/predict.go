package compare

import (
	"fmt"
	"io"
	"slices"
	"time"

	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
)

// A Forecast is the predicted traffic of a cell in a round that exchanges, and the least time of such a round.
type Forecast struct {
	Network   string  `json:"network"`
	Label     string  `json:"label"`
	Rounds    int     `json:"rounds"`
	Exchanges int     `json:"exchanges"`     // rounds that exchange
	Payload   int64   `json:"payload_bytes"` // of all messages of such a round, mean per peer
	Wire      int64   `json:"wire_bytes"`    // the same, encrypted
	Least     float64 `json:"least_s"`       // such a round without its gradient

	// Unknown: only the script of an external model knows its size. Payload, Wire and Least then have no meaning.
	Unknown bool `json:"size_unknown,omitempty"`
}

// forecastOf predicts a run on the uplink of its run file.
func forecastOf(run *experiment.Run) Forecast {
	network, p := run.Network(), forecast.Predict(run)
	wire := sim.WireBytes(sim.StreamBytes(p.Payload), network.Uplink)
	f := Forecast{
		Rounds: int(run.Config().Train.Rounds), Exchanges: p.Exchanges,
		Payload: int64(p.Mean * float64(p.Payload)), Wire: int64(p.Mean * float64(wire)), Unknown: run.Dim() == 0,
	}
	var now time.Duration
	for _, frames := range p.Frames {
		now = hop(network.Uplink, now, frames, wire)
	}
	f.Least = now.Seconds()
	return f
}

// hop returns the arrival of the last of some messages.
func hop(link shape.Link, now time.Duration, frames, bytes int) time.Duration {
	var gate shape.Gate
	var path shape.Path
	arrives := now
	for range frames {
		_, arrives = path.Book(link, &gate, now, bytes)
	}
	return arrives
}

// Predict predicts the traffic of a comparison's cells for the first seed: other seeds send the same. set are keys of
// all cells. It also returns the condition that ends cells early, "" for none.
func Predict(file *configs.Comparison, set []string) (all []Forecast, until string, err error) {
	m := &Matrix{Options: Options{Set: set}, file: file, cells: file.Cells(), tuned: map[string][]string{}}
	if err := m.checkSet(); err != nil {
		return nil, "", err
	}
	for _, cell := range file.Cells() {
		if cell.Seed != file.Seeds[0] {
			continue
		}
		loaded, err := m.load(firstChoice(cell)) // any choice sends the same
		if err != nil {
			return nil, "", err
		}
		run, err := session.Assemble(loaded)
		if err != nil {
			return nil, "", m.inCell(cell, err)
		}
		if err := m.endsOf(cell, run); err != nil {
			return nil, "", m.inCell(cell, err)
		}
		if err := checkInside(file.Mode, cell, loaded, run); err != nil {
			return nil, "", m.inCell(cell, err)
		}
		f := forecastOf(run)
		f.Network, f.Label = cell.Network, cell.Label
		all = append(all, f)
	}
	return all, m.result.Until, nil
}

// Extent says how many cells and seeds a comparison has.
func Extent(file *configs.Comparison) string {
	seeds := human.Count(len(file.Seeds), "seed")
	if slices.ContainsFunc(file.Algorithms, func(v configs.Variant) bool { return v.Seeds > 0 }) {
		seeds = "at most " + seeds
	}
	return fmt.Sprintf("%s by %s, %s each", human.Count(len(file.Cells()), "cell"), file.Mode, seeds)
}

// WriteForecasts prints a line per network and algorithm.
func WriteForecasts(w io.Writer, all []Forecast) error {
	t := human.AlignRight(w)
	fmt.Fprintln(t,
		"NETWORK\tALGORITHM\tROUNDS\tEXCHANGES\tPAYLOAD\tON THE WIRE\tMS PER EXCHANGE, AT LEAST\tALL, AT LEAST\t")
	for _, f := range all {
		if f.Unknown {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t?\t?\t?\t?\t\n", f.Network, f.Label, f.Rounds, f.Exchanges)
			continue
		}
		in := time.Duration(float64(f.Exchanges) * f.Least * float64(time.Second)).Round(100 * time.Millisecond)
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%.4g\t%v\t\n", f.Network, f.Label, f.Rounds, f.Exchanges,
			human.Size(f.Payload), human.Size(f.Wire), 1e3*f.Least, in)
	}
	return t.Flush()
}
