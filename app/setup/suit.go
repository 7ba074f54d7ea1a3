package setup

import (
	"fmt"
	"strings"

	"gossiptrainer/app/describe"
	"gossiptrainer/internal/data"
)

// A suit is a model, and the training, that suit data of the user. "go run ./studies tables" measures them on public
// tables beside scikit-learn.
type suit struct {
	hidden      int // units of the one hidden layer; 0: logistic regression
	batch       int // samples of a worker in a round
	rounds      int
	standardise bool
	why         string // in words for the user
}

// Bounds of what suits data.
const (
	fewRows    = 1000 // with two classes, below which a hidden layer learns rows by heart
	manyInputs = 100  // values of a sample, above which the hidden layer is wider
	narrow     = 64   // units of a hidden layer
	wide       = 128
	passes     = 20 // over the rows to train on
	leastWork  = 600
	mostWork   = 3000 // rounds
)

// isTable reports whether samples are rows of a table, whose columns have units of their own. Sparse rows stay sparse.
func isTable(s *data.Survey) bool {
	return s.Shape.H*s.Shape.W == 1 && !strings.HasPrefix(s.Format, "LIBSVM")
}

// suits returns what suits data that a check has found good, for some workers. rounds are those that the user wants, 0:
// as many as suit.
func suits(check *describe.DataCheck, workers, rounds int) suit {
	first := check.Files[0]
	inputs, classes := first.Shape.Features(), len(first.Classes)
	s := suit{hidden: narrow, batch: usualBatch, standardise: check.Standardise || isTable(first)}
	if check.Train < fewRows*workers {
		s.batch /= 2
	}
	for _, rows := range check.Split.Sizes {
		s.batch = min(s.batch, rows)
	}
	if s.rounds = rounds; rounds == 0 {
		s.rounds = min(max(passes*check.Train/(workers*s.batch), leastWork), mostWork)
	}
	model := fmt.Sprintf("a hidden layer of %d units", narrow)
	switch {
	case classes == 2 && check.Train < fewRows:
		s.hidden, model = 0, "logistic regression, since more would learn so few rows by heart"
	case inputs > manyInputs:
		s.hidden, model = wide, fmt.Sprintf("a hidden layer of %d units", wide)
	}
	s.why = fmt.Sprintf("%d rows of %d values and %d classes: %s, %d rounds", check.Train, inputs, classes, model,
		s.rounds)
	return s
}
