//go:build !unix

package screen

import "os"

// inForeground reports whether this process may read the terminal: always,
// where there are no background jobs.
func inForeground(*os.File) bool { return true }
