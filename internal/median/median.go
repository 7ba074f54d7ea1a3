// Package median has the one median of this module.
package median

import "slices"

// Of returns the value in the middle, the mean of the two in the middle of an even number of values, and 0 of none. It
// leaves the order of the values.
func Of[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}
