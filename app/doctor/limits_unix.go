//go:build unix

package doctor

import "golang.org/x/sys/unix"

// fileLimit returns how many files this process may open.
func fileLimit() (limit uint64, known bool) {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0, false
	}
	return uint64(r.Cur), true
}
