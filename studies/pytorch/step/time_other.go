//go:build !linux

package main

import "time"

// threadTime returns 0, because this system does not count it.
func threadTime() time.Duration { return 0 }
