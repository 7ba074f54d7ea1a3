//go:build !unix && !windows

package bridge

import (
	"errors"
	"os"
	"syscall"
)

// attributes are empty: the system has no process groups.
func attributes() *syscall.SysProcAttr { return nil }

// interrupt fails: the system cannot interrupt another program.
func interrupt(p *os.Process) error { return errors.ErrUnsupported }

func sweep(*os.Process) {}

func kill(p *os.Process) error { return p.Kill() }

func endedBy(*os.ProcessState) string { return "" }
