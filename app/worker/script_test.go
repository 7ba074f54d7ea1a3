package worker

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gossiptrainer/app/script"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/model"
	"gossiptrainer/node"
)

// external returns a run of an external model of three elements.
func external(t *testing.T, start []float32) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: []string{"model.name=external"}})
	if err != nil {
		t.Fatal(err)
	}
	loaded.Config.Model.Outline = &model.Outline{Params: []model.Param{{Name: "w", Shape: []int{3}}}}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	stays := func(g []float32, k int, x []float32) (float32, error) { return 0, nil }
	return run.Programmed(experiment.Program{Start: start, Gradient: stays})
}

// A program counts what a store asks of it.
type program struct {
	start []float32
	blob  []byte
	ended []byte
	gone  error
	asked []int
	keep  func(blob []byte) error
}

func (p *program) Start() []float32 { return p.start }
func (p *program) SaveBefore(k int) { p.asked = append(p.asked, k) }
func (p *program) State(k int) (script.State, error) {
	return script.State{Blob: p.blob, Ended: p.ended}, p.gone
}
func (p *program) Cost() time.Duration { return 0 }

func (p *program) AtEnd(keep func(blob []byte) error) { p.keep = keep }

func TestACheckpointHoldsTheStateOfTheScript(t *testing.T) {
	p := &program{start: []float32{1, 2, 3}, blob: []byte("optimizer")}
	run, folder := external(t, p.start), t.TempDir()
	s := storeOf(run, folder, 3)
	o, err := s.Find(Fresh)
	if err != nil || o.Start != nil || !o.Kept {
		t.Fatalf("begins at %+v, error %v", o, err)
	}
	_, kept, err := s.Begin(o, run, p)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Journal.Close()
	if err := kept.Write(0); err != nil {
		t.Fatal(err)
	}
	if o, err = s.Find(Return); err != nil || !slices.Equal(o.Start, p.start) || o.State != nil {
		t.Errorf("a worker that has done no round begins at %+v, error %v; want the vector of round 0", o, err)
	}
	kept.Take(5)
	if err := kept.Write(5); err != nil || !slices.Equal(p.asked, []int{5}) {
		t.Errorf("the script was asked before rounds %v, error %v", p.asked, err)
	}
	if o, err = s.Find(Return); err != nil || o.Round != 5 || o.State == nil || string(o.Blob) != "optimizer" {
		t.Errorf("begins at %+v, error %v; want the state of the script before round 5", o, err)
	}
	if _, _, err := s.Begin(o, run, p); err == nil {
		t.Error("the journal of a store is open twice")
	}
	p.ended = []byte("12 rounds")
	kept.Take(15)
	if err := kept.Write(15); err != nil {
		t.Fatal(err)
	}
	if o, err = s.Find(Return); err != nil || o.Round != 15 || o.Blob != nil || string(o.Ended) != "12 rounds" {
		t.Errorf("begins at %+v, error %v; want that the script had ended", o, err)
	}
}

// begun returns the store of a run that has begun with a program, and its checkpoints.
func begun(t *testing.T, p *program) (*Store, *node.Checkpoints) {
	t.Helper()
	run := external(t, p.start)
	s := storeOf(run, t.TempDir(), 3)
	o, err := s.Find(Fresh)
	if err != nil {
		t.Fatal(err)
	}
	_, kept, err := s.Begin(o, run, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Journal.Close() })
	return s, kept
}

// A checkpoint without the state of its script would go on with another optimizer.
func TestNoCheckpointWithoutTheScript(t *testing.T) {
	p := &program{start: []float32{1, 2, 3}, gone: errors.New("killed")}
	s, kept := begun(t, p)
	kept.Take(5)
	if err := kept.Write(5); !errors.Is(err, p.gone) {
		t.Errorf("error %v, want that of the script", err)
	}
	if o, err := s.Find(Return); err != nil || o.State != nil {
		t.Errorf("begins at %+v, error %v; want round 0", o, err)
	}
}

// After the last round the neighbours may go before the script has left its loop. Its state follows.
func TestTheStateOfAScriptAfterItsLastRoundIsKept(t *testing.T) {
	p := &program{start: []float32{1, 2, 3}, gone: errors.New("it has not left its loop")}
	s, kept := begun(t, p)
	kept.Last(20)
	if err := kept.Write(20); err != nil || !slices.Equal(p.asked, []int{20}) {
		t.Errorf("the script was asked before rounds %v, error %v", p.asked, err)
	}
	for _, want := range []string{"", "counters"} {
		if o, err := s.Find(Return); err != nil || o.Round != 20 || string(o.Blob) != want {
			t.Errorf("begins at round %d with the state %q, error %v; want %q", o.Round, o.Blob, err, want)
		}
		if err := p.keep([]byte("counters")); err != nil {
			t.Fatal(err)
		}
	}
}
