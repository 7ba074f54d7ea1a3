//go:build !unix

package safefile

// SyncFolder does nothing where folders are not files.
func SyncFolder(string) error { return nil }
