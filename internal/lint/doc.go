// Package lint holds the rules of this repository as tests: the arrows between
// packages, what the deterministic core may not do, sizes, names and comments.
// Each finding gives its reason.
//
// It contains no product code, and judges source text alone: it builds and
// runs nothing.
package lint
