package work

import "time"

// An Interval says how often a state is kept.
type Interval struct {
	Rounds int           // 0: any number
	Time   time.Duration // 0: any time
}

// Due reports whether the state before a round is to be kept: the last one was that of an earlier round, −1 for none,
// some time ago. Not every round needs to be asked for.
func (i Interval) Due(round, last int, ago time.Duration) bool {
	return i.Rounds > 0 && round-round%i.Rounds > last || i.Time > 0 && ago >= i.Time
}
