package screen

import (
	"time"
)

// A Countdown is the time that is left of a task, as it is shown. It follows the mean of the last estimates and falls,
// or stands where they become longer. It rises only where they are longer by more than a quarter: the task has become
// slower. The zero value has shown nothing.
type Countdown struct {
	end   time.Time // by the mean of the last estimates
	shown time.Duration
}

const (
	weight    = 4 // an estimate counts this part of the mean
	tolerated = 4 // part of the time that is shown by which it may be too short
)

// Show takes the estimate of the moment and returns the time to show, not below 0.
func (c *Countdown) Show(estimate time.Duration, now time.Time) time.Duration {
	first := c.end.IsZero()
	if first {
		c.end = now.Add(estimate)
	} else {
		c.end = c.end.Add(now.Add(estimate).Sub(c.end) / weight)
	}
	left := max(0, c.end.Sub(now))
	if first || left < c.shown || left > c.shown+c.shown/tolerated+time.Second {
		c.shown = left
	}
	return c.shown
}

// Bounds below which the speed of a task is not known.
const (
	leastTime  = 2 * time.Second
	leastShare = 1.0 / 50
)

// A pace estimates the time for the rest of a task from its speed since it began.
type pace struct {
	began time.Time
	from  float64 // share that was done before
	shown Countdown
}

// left returns the time to show when a share of the task is done, Unknown as long as the speed is not known.
func (p *pace) left(share float64, now time.Time) time.Duration {
	took, done := now.Sub(p.began), share-p.from
	if took < leastTime || done < leastShare {
		return Unknown
	}
	return p.shown.Show(time.Duration(float64(took)*max(0, 1-share)/done), now)
}

// Unknown is the time that is left of a task before there is an estimate.
const Unknown time.Duration = -1

// Left says how long a task still takes.
func Left(left time.Duration) string {
	if left == Unknown {
		return "? left"
	}
	return "about " + left.Round(time.Second).String() + " left"
}
