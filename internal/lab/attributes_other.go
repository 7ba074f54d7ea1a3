//go:build !unix

package lab

import "syscall"

// attributes ask for nothing where there are no process groups to ask for.
func attributes() *syscall.SysProcAttr { return nil }
