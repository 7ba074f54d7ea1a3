// Package docs tests the documents of the repository against the code. The tests decode and encode every worked example
// in docs/format, and compute the numbers of docs/math.md.
//
// It contains no product code.
package docs
