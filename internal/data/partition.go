package data

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/rng"
)

// partitionDomain separates the numbers of partitions from all others under a seed.
const partitionDomain = 0x7368617264732020 // the letters "shards  "

// Labels are the labels of a split, 0..len(Classes)−1.
type Labels struct {
	Of      []uint8 // by row
	Classes []string
}

// A Partition cuts a split into one shard per worker. No row is in two shards.
type Partition struct {
	Classes []string `json:"classes"`
	Shards  [][]int  `json:"-"`      // by worker: rows of the split, ascending
	Counts  [][]int  `json:"counts"` // by worker and class
	Unused  []int    `json:"unused"` // by class: rows in no shard
}

// IID deals out all rows at random; shard sizes differ by at most one.
func IID(y Labels, workers int, seed uint64) (Partition, error) {
	if err := checkWorkers(y, workers); err != nil {
		return Partition{}, err
	}
	rows := make([]int, len(y.Of))
	for i := range rows {
		rows[i] = i
	}
	rng.Shuffle(rows, rng.At(rng.Stream(seed^partitionDomain, len(y.Classes)), 0))
	return newPartition(y, cutEvenly(rows, workers)), nil
}

// ByLabel gives every worker perWorker labels, 1..classes. Worker i has those numbered
// i·perWorker + j modulo the number of classes. The workers that have a label get its rows
// evenly and at random.
//
// If workers·perWorker is no multiple of the number of classes, some labels have one worker
// more than others, and each of these workers gets fewer rows of the label. If it is smaller
// than the number of classes, labels without a worker are not used.
func ByLabel(y Labels, workers, perWorker int, seed uint64) (Partition, error) {
	if err := checkWorkers(y, workers); err != nil {
		return Partition{}, err
	}
	holders, err := holdersOf(y, workers, perWorker)
	if err != nil {
		return Partition{}, err
	}
	shards := make([][]int, workers)
	for label, rows := range rowsByLabel(y, seed) {
		for k, piece := range cutEvenly(rows, len(holders[label])) {
			worker := holders[label][k]
			shards[worker] = append(shards[worker], piece...)
		}
	}
	return newPartition(y, shards), nil
}

// holdersOf returns the workers that have each label. It refuses labels with fewer rows than workers.
func holdersOf(y Labels, workers, perWorker int) ([][]int, error) {
	classes := len(y.Classes)
	if perWorker < 1 || perWorker > classes {
		return nil, fmt.Errorf("data: partition by label: %d labels per worker: want 1..%d", perWorker, classes)
	}
	holders := make([][]int, classes)
	for i := range workers {
		for j := range perWorker {
			label := (i*perWorker + j) % classes
			holders[label] = append(holders[label], i)
		}
	}
	rows := make([]int, classes)
	for _, label := range y.Of {
		rows[label]++
	}
	for label, n := range rows {
		if n < len(holders[label]) {
			return nil, fmt.Errorf("data: partition by label: label %s: %d samples for %d workers",
				y.Classes[label], n, len(holders[label]))
		}
	}
	return holders, nil
}

func checkWorkers(y Labels, workers int) error {
	if workers < 1 || workers > len(y.Of) {
		return fmt.Errorf("data: partition: %d workers for %d samples: want 1..%d", workers, len(y.Of), len(y.Of))
	}
	return nil
}

// newPartition sorts and counts the shards.
func newPartition(y Labels, shards [][]int) Partition {
	p := Partition{Classes: y.Classes, Shards: shards, Unused: make([]int, len(y.Classes))}
	for _, label := range y.Of {
		p.Unused[label]++
	}
	for _, rows := range shards {
		slices.Sort(rows)
		count := make([]int, len(y.Classes))
		for _, i := range rows {
			count[y.Of[i]]++
			p.Unused[y.Of[i]]--
		}
		p.Counts = append(p.Counts, count)
	}
	return p
}

// rowsByLabel returns the rows of every label in random order.
func rowsByLabel(y Labels, seed uint64) [][]int {
	rows := make([][]int, len(y.Classes))
	for i, label := range y.Of {
		rows[label] = append(rows[label], i)
	}
	for label := range rows {
		rng.Shuffle(rows[label], rng.At(rng.Stream(seed^partitionDomain, label), 0))
	}
	return rows
}

// cutEvenly cuts rows into n pieces whose lengths differ by at most one.
func cutEvenly(rows []int, n int) [][]int {
	pieces := make([][]int, n)
	for i := range pieces {
		pieces[i] = rows[i*len(rows)/n : (i+1)*len(rows)/n]
	}
	return pieces
}
