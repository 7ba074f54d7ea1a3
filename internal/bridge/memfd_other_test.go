//go:build !linux

package bridge

import (
	"errors"
	"net"
	"os/exec"
)

const (
	haveMemfd = false
	bothSeals = 0
)

func makeRegion(size, seals int) ([]float32, int, error) { return nil, -1, errors.ErrUnsupported }

func sendWith(*net.UnixConn, []byte, ...int) error { return errors.ErrUnsupported }

func detach(*exec.Cmd) {}
