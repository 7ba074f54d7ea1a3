package machine

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// FreeCores returns how many cores the process may take for one job, ≥ 1. Where the environment sets GOMAXPROCS, peers
// share the machine: a lab gives each its share and one core more, on which frames move during a gradient.
func FreeCores() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") != "" {
		n--
	}
	return max(1, n)
}

// Do calls work once for each part from 0 to parts−1, on up to lanes ≥ 1 goroutines, and returns when all parts are
// done. The calls of one lane follow each other; lane 0 is the caller's goroutine. Parts begin in increasing order.
// They do not depend on each other: which goroutine does a part never decides a result.
func Do(lanes, parts int, work func(lane, part int)) {
	var next atomic.Int64
	take := func(lane int) {
		for part := next.Add(1) - 1; part < int64(parts); part = next.Add(1) - 1 {
			work(lane, int(part))
		}
	}
	var others sync.WaitGroup
	for lane := 1; lane < min(lanes, parts); lane++ {
		others.Go(func() { take(lane) })
	}
	take(0)
	others.Wait()
}
