package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"gossiptrainer/internal/record"
)

// workerName is the name of a worker in all forms.
func workerName(rank int) string {
	if rank == record.Average {
		return "average"
	}
	return "worker-" + strconv.Itoa(rank)
}

// A tensorBoard is a log folder: one folder per run, and in it one per worker with its event file.
type tensorBoard struct {
	dir   string
	files map[int]*draft // of a run, by rank
}

func openTensorBoard(dir string) (sink, error) {
	return &tensorBoard{dir, map[int]*draft{}}, os.Mkdir(dir, 0o777)
}

func (t *tensorBoard) write(s *source, r *row) error {
	file := t.files[r.worker]
	if file == nil {
		dir := filepath.Join(t.dir, s.Name, workerName(r.worker))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		file = newEvents(dir, s)
		t.files[r.worker] = file
	}
	return addEvent(file, s, r)
}

func (t *tensorBoard) end() error {
	defer clear(t.files)
	for _, file := range t.files {
		if err := file.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tensorBoard) close() error { return nil }

// newEvents begins an event file. TensorBoard looks for tfevents in the name.
func newEvents(dir string, s *source) *draft {
	file := newDraft(filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.gossip", s.began.Unix())), s.workers+1)
	file.waiting = appendHeader(file.waiting, float64(s.began.Unix()))
	return file
}

// addEvent appends the values of a row. Their step is the round.
func addEvent(file *draft, s *source, r *row) error {
	curves := make([]tagged, 0, len(scalars))
	for i, v := range r.values {
		if record.Number(v) != nil {
			curves = append(curves, tagged{Tag: scalars[i].name, Value: v})
		}
	}
	return file.append(func(b []byte) []byte { return appendScalars(b, s.wall(r), int64(r.round), curves) })
}
