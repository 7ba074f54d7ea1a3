//go:build !unix

package fleet

import "syscall"

// attributes are empty: the system has no process groups.
func attributes() *syscall.SysProcAttr { return nil }
