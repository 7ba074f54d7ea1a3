// Package data reads data sets, cuts them into shards and draws mini-batches.
// A mini-batch is a function of (seed, worker, round), never of history.
//
// It trains nothing, and it downloads nothing by itself: Fetch is an explicit
// call.
package data
