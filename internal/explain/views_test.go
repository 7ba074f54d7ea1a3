package explain

import (
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// A member that joins is explained as the founders are, from its own clock. One that has left is blamed for nothing.
func TestSentencesFollowTheViews(t *testing.T) {
	r := NewRecord(Facts{Workers: 3})
	view := func(v int, members ...int) {
		r.See(record.Event{Status: &record.Status{Rank: 0, View: &record.Membership{View: v, Members: members}}})
	}
	round := func(k int, since int, compute map[int]time.Duration) {
		for id := range 4 {
			took, works := compute[id]
			if !works {
				continue
			}
			at := k
			if id == 3 {
				at -= since // its clock begins as it joins
			}
			step := record.Step{Rank: id, Round: k, Loss: 1, Compute: took * time.Millisecond, Wait: 10 * time.Millisecond}
			step.Time = time.Duration(at) * 40 * time.Millisecond
			r.See(record.Event{Step: &step})
		}
	}
	blamed := func() (text string) {
		for _, s := range Sentences(r) {
			text += s.Text + "\n"
		}
		return text
	}
	view(0, 0, 1, 2)
	for k := 1; k <= 40; k++ {
		round(k, 0, map[int]time.Duration{0: 10, 1: 10, 2: 30})
	}
	if text := blamed(); !strings.Contains(text, "the gradients of worker 2 take 3 times the median") {
		t.Errorf("before a member joins: %s", text)
	}
	view(1, 0, 1, 3)
	for k := 41; k <= 80; k++ {
		round(k, 40, map[int]time.Duration{0: 10, 1: 10, 3: 25})
	}
	text := blamed()
	const want = "the gradients of worker 3 take 2.5 times the median"
	if !strings.Contains(text, want) || strings.Contains(text, "worker 2") {
		t.Errorf("once member 2 has left and member 3 has joined: %s", text)
	}
	if last := r.Last(); len(last) != 3 || last[2].Rank != 3 {
		t.Errorf("the last steps are %+v", last)
	}
	if s := r.workers[3].split(); s.round < 0.039 || s.round > 0.041 {
		t.Errorf("a round of member 3 takes %v s, want 0.04", s.round)
	}
}
