package cost

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// slice is how long a job keeps its core while others wait, as threads do under the schedulers of operating systems.
const slice = 3 * time.Millisecond

// Processors carry out jobs. A job that finds no free core waits its turn. It keeps its core until it is over, or until
// it has had it for a slice and another job waits: then it waits again, behind the others. T describes a job.
type Processors[T any] struct {
	cores   int // 0: one for every job
	seq     uint64
	running turns[T] // a heap, the first one to change on top
	waiting []job[T] // in the order of their turns
}

// A job lacks left of its processor time.
type job[T any] struct {
	left time.Duration
	what T
}

// A turn is a job that has a core. Unless the job is over by then, it loses its core at the end of the turn.
type turn[T any] struct {
	job[T]     // as of the beginning
	began, end time.Duration
	seq        uint64 // breaks ties
}

// NewProcessors returns idle processors. With 0 cores every job has one of its own.
func NewProcessors[T any](cores int) *Processors[T] { return &Processors[T]{cores: cores} }

// Size returns the number of jobs that are not over.
func (p *Processors[T]) Size() int { return len(p.running) + len(p.waiting) }

// Begin adds a job of so much processor time ≥ 0.
func (p *Processors[T]) Begin(now, cost time.Duration, what T) {
	if p.cores == 0 || len(p.running) < p.cores {
		p.run(now, job[T]{cost, what})
		return
	}
	p.waiting = append(p.waiting, job[T]{cost, what})
	if len(p.waiting) > 1 {
		return
	}
	for i := range p.running { // nothing has limited these turns so far
		t := &p.running[i]
		t.end = min(t.end, max(now, t.began+slice))
	}
	heap.Init(&p.running)
}

// run gives a job a core.
func (p *Processors[T]) run(now time.Duration, j job[T]) {
	t := turn[T]{job: j, began: now, end: now + j.left, seq: p.seq}
	if len(p.waiting) > 0 {
		t.end = now + min(j.left, slice)
	}
	p.seq++
	heap.Push(&p.running, t)
}

// Next returns when the next turn ends if nothing else begins; false if there is none.
func (p *Processors[T]) Next() (time.Duration, bool) {
	if len(p.running) == 0 {
		return 0, false
	}
	return p.running[0].end, true
}

// End ends the next turn, at the time that Next has returned. It returns the job, and whether the job is over.
func (p *Processors[T]) End() (what T, over bool) {
	t := heap.Pop(&p.running).(turn[T])
	t.left -= t.end - t.began
	if t.left > 0 {
		p.waiting = append(p.waiting, t.job)
	}
	if len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.run(t.end, next)
	}
	return t.what, t.left == 0
}

// Drop removes jobs.
func (p *Processors[T]) Drop(now time.Duration, match func(T) bool) {
	p.running = slices.DeleteFunc(p.running, func(t turn[T]) bool { return match(t.what) })
	heap.Init(&p.running)
	p.waiting = slices.DeleteFunc(p.waiting, func(j job[T]) bool { return match(j.what) })
	for len(p.waiting) > 0 && len(p.running) < p.cores {
		next := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.run(now, next)
	}
}

// A Load is the state of processors. W describes a job.
type Load[W any] struct {
	Running []Share[W] `json:"running"` // by the ends of their turns
	Waiting []Share[W] `json:"waiting"` // in the order of their turns
}

// A Share is a job in a Load.
type Share[W any] struct {
	Left  time.Duration `json:"left_ns"`
	Began time.Duration `json:"began_ns,omitempty"` // its turn
	End   time.Duration `json:"end_ns,omitempty"`
	Job   W             `json:"job"`
}

// Save returns the state of processors. write describes a job.
func Save[T, W any](p *Processors[T], write func(T) W) (load Load[W]) {
	sorted := slices.Clone(p.running)
	slices.SortFunc(sorted, order)
	for _, t := range sorted {
		load.Running = append(load.Running, Share[W]{t.left, t.began, t.end, write(t.what)})
	}
	for _, j := range p.waiting {
		load.Waiting = append(load.Waiting, Share[W]{Left: j.left, Job: write(j.what)})
	}
	return load
}

// Restore gives idle processors the jobs of a state.
func Restore[T, W any](p *Processors[T], load Load[W], read func(W) (T, error)) error {
	for _, share := range load.Running {
		what, err := read(share.Job)
		if err != nil {
			return err
		}
		heap.Push(&p.running, turn[T]{job[T]{share.Left, what}, share.Began, share.End, p.seq})
		p.seq++
	}
	for _, share := range load.Waiting {
		what, err := read(share.Job)
		if err != nil {
			return err
		}
		p.waiting = append(p.waiting, job[T]{share.Left, what})
	}
	return nil
}

// turns are a heap, the first one to end on top.
type turns[T any] []turn[T]

func order[T any](a, b turn[T]) int {
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.seq, b.seq))
}

func (t turns[T]) Len() int           { return len(t) }
func (t turns[T]) Less(a, b int) bool { return order(t[a], t[b]) < 0 }
func (t turns[T]) Swap(a, b int)      { t[a], t[b] = t[b], t[a] }
func (t *turns[T]) Push(x any)        { *t = append(*t, x.(turn[T])) }

func (t *turns[T]) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = turn[T]{}
	*t = (*t)[:last]
	return x
}
