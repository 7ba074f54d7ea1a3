package node

import "time"

// A deadline moves on while there is progress. Each move costs a timer, so it is
// made for many chunks: none has less than progressTime, and one that stalls is
// noticed after at most a quarter more.
type deadline struct {
	set func(time.Time) error // of the stream
	at  time.Time             // zero: none is set
}

// extend gives what comes next its time.
func (d *deadline) extend() {
	now := time.Now()
	if d.at.Sub(now) >= progressTime {
		return
	}
	d.at = now.Add(progressTime + progressTime/4)
	d.set(d.at)
}

// lift lets what comes next take as long as it needs.
func (d *deadline) lift() {
	d.at = time.Time{}
	d.set(d.at)
}
