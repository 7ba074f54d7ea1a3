package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ticks is the unit of /proc/stat.
const ticks = 10 * time.Millisecond

// A clock measures the processor time that other programs take.
type clock struct {
	began time.Time
	busy  time.Duration // of all programs, before
}

func startClock() clock { return clock{time.Now(), busy()} }

// others returns the share of all cores that other programs took, if own programs took some time. It is 0 where the
// system does not tell it.
func (c clock) others(own time.Duration) float64 {
	all := time.Since(c.began) * time.Duration(runtime.NumCPU())
	now := busy()
	if now == 0 || all <= 0 {
		return 0
	}
	return max(0, float64(now-c.busy-own)/float64(all))
}

// busy returns the time that all cores have worked since the machine began.
func busy() time.Duration {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		return 0
	}
	return busyOf(lines.Text())
}

// busyOf reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func busyOf(line string) time.Duration {
	words := strings.Fields(line)
	if len(words) < 8 || words[0] != "cpu" {
		return 0
	}
	sum := 0
	for i, w := range words[1:8] {
		if i == 3 || i == 4 { // idle
			continue
		}
		n, err := strconv.Atoi(w)
		if err != nil {
			return 0
		}
		sum += n
	}
	return time.Duration(sum) * ticks
}
