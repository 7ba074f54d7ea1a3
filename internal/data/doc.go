// Package data reads data sets, cuts them into shards and draws mini-batches. A mini-batch is a function of (seed,
// worker, round), never of history.
//
// It trains nothing, and downloads nothing unless Fetch is called.
package data
