package export

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// A wandB is a folder of runs in the layout of Weights & Biases, one per worker. A run has its settings, history and
// summary in files/. Beside that is an event file of TensorBoard, which "wandb sync --sync-tensorboard" uploads. The
// binary run-ID.wandb is missing: docs/export.md says why.
type wandB struct {
	dir  string
	runs map[int]*wandRun // of a run, by rank
}

// A wandRun is the folder of a worker.
type wandRun struct {
	dir             string
	events, history *draft
	last            map[string]float64 // newest value of each scalar
}

func openWandB(dir string) (sink, error) {
	return &wandB{dir, map[int]*wandRun{}}, os.Mkdir(dir, 0o777)
}

func (w *wandB) write(s *source, r *row) error {
	run := w.runs[r.worker]
	if run == nil {
		var err error
		if run, err = w.newRun(s, r.worker); err != nil {
			return err
		}
		w.runs[r.worker] = run
	}
	for i, v := range r.values {
		if record.Number(v) != nil {
			run.last[scalars[i].name] = v
		}
	}
	run.last["_step"], run.last["_timestamp"], run.last["_runtime"] = float64(r.round), s.wall(r), r.time.Seconds()
	if err := addEvent(run.events, s, r); err != nil {
		return err
	}
	return run.history.append(func(b []byte) []byte {
		b = strconv.AppendInt(append(b, `{"_step":`...), int64(r.round), 10)
		b = strconv.AppendFloat(append(b, `,"_timestamp":`...), s.wall(r), 'f', -1, 64)
		b = appendNumber(append(b, `,"_runtime":`...), r.time.Seconds())
		return append(appendValues(b, r), "}\n"...)
	})
}

// newRun makes the folder of a worker.
func (w *wandB) newRun(s *source, rank int) (*wandRun, error) {
	id := plainID(s.Name) + "-" + workerName(rank)
	dir := filepath.Join(w.dir, "offline-run-"+s.began.Format("20060102_150405")+"-"+id)
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o777); err != nil {
		return nil, err
	}
	config, err := wandConfig(s.Dir, rank)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(files, "config.yaml"), config, 0o666); err != nil {
		return nil, err
	}
	return &wandRun{dir: dir, events: newEvents(dir, s), last: map[string]float64{},
		history: newDraft(filepath.Join(files, "wandb-history.jsonl"), s.workers+1)}, nil
}

// plainID keeps what an id may have.
func plainID(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r) {
			return r
		}
		return '-'
	}, name)
}

// wandConfig returns the settings of a run as W&B keeps them: a value, and a description that may be null, per key. A
// run file of another version has no settings here.
func wandConfig(dir string, rank int) ([]byte, error) {
	type setting struct {
		Desc  *string `json:"desc"`
		Value any     `json:"value"`
	}
	entries := yaml.MapSlice{{Key: "wandb_version", Value: 1}, {Key: "worker", Value: setting{Value: workerName(rank)}}}
	file := filepath.Join(dir, runfolder.RunFile)
	if safefile.Check(file) == nil {
		if loaded, err := configs.Load(configs.Source{File: file}); err == nil {
			settings := loaded.Config.Settings()
			for _, key := range slices.Sorted(maps.Keys(settings)) {
				var value any
				if err := yaml.Unmarshal([]byte(settings[key]), &value); err != nil {
					return nil, fmt.Errorf("config.yaml: %s: %w", key, err)
				}
				entries = append(entries, yaml.MapItem{Key: key, Value: setting{Value: value}})
			}
		}
	}
	text, err := yaml.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("config.yaml: %w", err)
	}
	return text, nil
}

func (w *wandB) end() error {
	defer clear(w.runs)
	for _, run := range w.runs {
		summary, err := json.Marshal(run.last)
		if err != nil {
			return err
		}
		for _, file := range []*draft{run.events, run.history} {
			if err := file.flush(); err != nil {
				return err
			}
		}
		path := filepath.Join(run.dir, "files", "wandb-summary.json")
		if err := os.WriteFile(path, append(summary, '\n'), 0o666); err != nil {
			return err
		}
	}
	return nil
}

func (w *wandB) close() error { return nil }
