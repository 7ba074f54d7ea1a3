//go:build unix && !linux

package bridge

import "syscall"

// attributes put the script into a process group of its own, so that a terminal's Ctrl-C does not reach it. A script
// whose peer dies sees the end of the connection.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
