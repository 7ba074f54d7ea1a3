package node

import (
	"errors"
	"strings"
	"testing"
)

func TestASecretIsAskedForWhereThereIsARosterToo(t *testing.T) {
	c := both(t, func(rank int, o *Options) { o.JoinSecret = []string{"open sesame", "open barley"}[rank] })
	_, errs := c.run(t, t.Context(), task{n: 2, dim: 100, rounds: 3})
	for rank, err := range errs {
		var net *NetworkError
		if !errors.As(err, &net) || !strings.Contains(err.Error(), "join secret differs") {
			t.Errorf("worker %d: error %v, want that the secret differs", rank, err)
		}
	}
}
