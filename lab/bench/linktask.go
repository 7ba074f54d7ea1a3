package bench

import (
	"strconv"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/wire"
)

// linkPeers is the size of the ring.
const linkPeers = 4

// A LinkTask is what the processes of one measurement do.
type LinkTask struct {
	Dim    int // coordinates of a model, at least 1
	Bits   int // per coordinate: 1 to 16, or 32 for full precision
	Rounds int
	Verify bool // messages of fewer than 32 bits end with a hash that receivers check
	Open   bool // without encryption
	// Latency of the links, one way; 0: nothing limits them
	Latency time.Duration
}

// NewLinkTasks returns the tasks of all sizes with all bits.
func NewLinkTasks(sizes, widths []int) (tasks []LinkTask, err error) {
	for _, d := range sizes {
		for _, bits := range widths {
			task, err := newLinkTask(d, bits)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, task)
		}
	}
	return tasks, nil
}

// newLinkTask returns a task with enough rounds that its measurement takes some seconds.
// Sizes and bits that a task cannot have are a usage error.
func newLinkTask(dim, bits int) (LinkTask, error) {
	t := LinkTask{Dim: dim, Bits: bits, Rounds: min(max(80_000_000/max(dim, 1), 6), 600)}
	return t, t.check()
}

func (t LinkTask) check() error {
	if t.Dim < 1 {
		return advice.Usagef("bench link: --size %d: must be at least 1", t.Dim)
	}
	if t.Bits != 32 && (t.Bits < 1 || t.Bits > 16) {
		return advice.Usagef("bench link: --bits %d: must be 1 to 16, or 32", t.Bits)
	}
	return nil
}

// bytes returns the length of a message.
func (t LinkTask) bytes() int { return wire.HeaderLen + (t.Dim*t.Bits+7)/8 }

// gigabytes returns what all peers together send in a round. Each sends its message to two neighbours.
func (t LinkTask) gigabytes() float64 { return float64(2*linkPeers*t.bytes()) / 1e9 }

// arguments are those of the process of a rank, after the words of its command.
func (t LinkTask) arguments(rank int) []string {
	var args []string
	for _, v := range []int{rank, t.Dim, t.Bits, t.Rounds} {
		args = append(args, strconv.Itoa(v))
	}
	return append(args, strconv.FormatBool(t.Verify), strconv.FormatBool(t.Open), t.Latency.String())
}

// ParseLinkTask reads the seven arguments of a process of "bench link".
func ParseLinkTask(args []string) (rank int, t LinkTask, err error) {
	var numbers [4]int
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(args[i]); err != nil {
			return 0, t, advice.Usagef("bench link peer: %q: want a number", args[i])
		}
	}
	latency, err := time.ParseDuration(args[6])
	if err != nil {
		return 0, t, advice.Usagef("bench link peer: %q: want a duration", args[6])
	}
	return numbers[0], LinkTask{
		Dim: numbers[1], Bits: numbers[2], Rounds: numbers[3], Verify: args[4] == "true", Open: args[5] == "true",
		Latency: latency,
	}, nil
}

// A linkMeasure is what one process finds, of a round.
type linkMeasure struct {
	Round  time.Duration `json:"round_ns"`
	CPU    time.Duration `json:"cpu_ns"` // processor time
	Allocs float64       `json:"allocs_per_round"`
}
