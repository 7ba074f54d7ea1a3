//go:build !unix

package atomicfile

// SyncFolder does nothing where folders are not files.
func SyncFolder(string) error { return nil }
