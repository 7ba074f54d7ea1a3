//go:build !unix

package doctor

// fileLimit returns false: this system has no such limit.
func fileLimit() (limit uint64, known bool) { return 0, false }
