package report

// A Setup says how the cells of an algorithm on a network are made, as the program knows it before they run.
type Setup struct {
	Label      string `json:"label"`
	Network    string `json:"network"`
	Algorithm  string `json:"algorithm"` // as in papers
	Paper      string `json:"paper"`
	Messages   string `json:"messages"` // their content
	Overlap    string `json:"overlap"`  // one of Overlaps, Waits and Asynchronous
	Graph      string `json:"graph"`
	Workers    int    `json:"workers"`
	Parameters int    `json:"parameters"` // of the model
	// Claim is the bytes that a peer sends in a round with an exchange, as papers count them: bits times parameters
	// times messages; 0: the bits are not fixed.
	Claim float64 `json:"claim_bytes,omitempty"`
	// Exchange is the time of a round's messages by the formula, in seconds; 0: there is none.
	Exchange float64 `json:"exchange_s"`
	Every    int     `json:"local_steps"` // rounds from one exchange to the next
	// Settings are the keys of the run file in which the cells of the comparison differ.
	Settings map[string]string `json:"settings,omitempty"`
}

// The ways in which messages and gradients follow each other.
const (
	Overlaps     = "overlaps"     // messages travel while the gradient is computed
	Waits        = "waits"        // messages depend on the gradient
	Asynchronous = "asynchronous" // workers share no rounds
)

// Predicted returns the seconds of a round by the formula, with a gradient of some seconds; 0: there is none. A round
// with an exchange takes the longer of gradient and messages where they overlap, else their sum.
func (s Setup) Predicted(gradient float64) float64 {
	if s.Exchange == 0 || s.Overlap == Asynchronous {
		return 0
	}
	round := gradient + s.Exchange
	if s.Overlap == Overlaps {
		round = max(gradient, s.Exchange)
	}
	every := float64(max(1, s.Every))
	return ((every-1)*gradient + round) / every
}

// A Trial is one short run of a search for values.
type Trial struct {
	Label    string   `json:"label"`
	Settings []string `json:"settings"`         // key=value
	Bounds   []string `json:"bounds,omitempty"` // keys whose value is the least or the largest that they allow
	Loss     *float64 `json:"train_loss"`
	Why      string   `json:"why,omitempty"` // why there is no loss
	Rounds   int      `json:"rounds"`
	Seed     uint64   `json:"seed"`
	Network  string   `json:"network"`           // whose data it has
	InGrid   bool     `json:"in_grid,omitempty"` // the search may choose it
	Default  bool     `json:"default,omitempty"` // the values that the run file has without the search
	Chosen   bool     `json:"chosen,omitempty"`
}

// setup returns how the cells of g are made, nil if an earlier program has made the comparison.
func (s *Study) setup(g *Group) *Setup {
	for i := range s.Setups {
		if one := &s.Setups[i]; one.Label == g.Label && one.Network == g.Network.Name {
			return one
		}
	}
	return nil
}

// trials returns the trials of an algorithm.
func (s *Study) trials(label string) []Trial {
	var all []Trial
	for _, t := range s.Trials {
		if t.Label == label {
			all = append(all, t)
		}
	}
	return all
}

// candidates counts the trials of a search that it could choose.
func candidates(trials []Trial) int {
	n := 0
	for _, t := range trials {
		if t.InGrid {
			n++
		}
	}
	return n
}
