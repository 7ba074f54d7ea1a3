// Package docs holds the documents of the repository against the code, as tests:
// every worked example in docs/format is decoded and made again, and the numbers
// in docs/math.md are computed.
//
// It contains no product code.
package docs
