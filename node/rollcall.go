package node

import (
	"context"
	"errors"
)

type rollCall struct{}

func (r *rollCall) close() {}

func (n *Node) callRoll(ctx context.Context) (*roster, error) { return nil, errors.New("todo") }
