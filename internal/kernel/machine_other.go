//go:build !amd64 || purego

package kernel

// machine returns the highest tier: there is no assembly in this build.
func machine() Tier { return Off }
