// Package conformance tests the code against the reference vectors, with one test file per kind of vector file. It
// contains no product code.
package conformance
