//go:build linux

package main

import (
	"context"
	"errors"
	"time"
)

func soakFor(ctx context.Context, peer string, d time.Duration, seed uint64) (string, error) {
	return "", errors.New("not yet")
}
