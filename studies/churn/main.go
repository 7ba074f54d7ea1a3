// Churn lets members of a run join, leave and die at random, at several rates. It writes accuracy, bytes and time
// against the rate as Markdown and a picture.
//
//	go run ./studies/churn -o docs/results/churn.md
//
// The model is logistic on the built-in digits, so that hundreds of members fit. A run that cannot go on becomes a row.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/score"
	"gossiptrainer/lab/views"
	"gossiptrainer/studies/markdown"
)

func main() {
	rounds := flag.Int("rounds", 100, "rounds of each run")
	most := flag.Int("most", 256, "founders of the largest run, 16 to 256")
	markdown.Program("churn", func(ctx context.Context, output string) error {
		return write(ctx, output, plan{rounds: *rounds, most: *most})
	})
}

// A plan holds the settings that all runs share.
type plan struct{ rounds, most int }

// Axes of the study.
var (
	sizes  = []int{16, 64, 256}
	graphs = []string{"ring", "one-peer-exponential", "base2"}
	rates  = []float64{0, 0.0003, 0.001, 0.003} // changes per member and exchange
	codecs = []codec{
		{"D-PSGD", []string{"algorithm.codec=full"}},
		{"Moniqua 8 bit", []string{"algorithm.theta={rule: fixed, value: 2}"}},
	}
)

type codec struct {
	name string
	set  []string
}

// A cell is one run.
type cell struct {
	size  int
	graph string
	codec codec
	rate  float64
}

// A result is what a run has reached. Failed says why it did not end.
type result struct {
	cell
	views, members int
	accuracy, loss float64
	sent, seconds  float64 // bytes of all members; virtual time
	failed         string
}

// cells returns all runs, those of one curve together.
func cells(p plan) (all []cell) {
	for _, size := range sizes {
		for _, graph := range graphs {
			for _, codec := range codecs {
				for _, rate := range rates {
					if size <= p.most {
						all = append(all, cell{size, graph, codec, rate})
					}
				}
			}
		}
	}
	return all
}

func (c cell) run(ctx context.Context, p plan) (result, error) {
	set := append([]string{
		fmt.Sprintf("membership={mode: view, min: 2, max: %d, grace: 500ms}", 2*c.size), "topology.slack=1",
		"topology.kind=" + c.graph, fmt.Sprint("topology.size=", c.size), "model.name=logistic",
		fmt.Sprintf("train={rounds: %d, batch: 8, step_size: 0.1, schedule: constant, momentum: 0}", p.rounds),
	}, c.codec.set...)
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		return result{}, err
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		return result{}, err
	}
	r := result{cell: c}
	o, err := views.Simulate(ctx, run, views.Happening{Churn: c.rate})
	if err != nil {
		r.failed = err.Error()
		return r, ctx.Err()
	}
	mean, err := meanOf(o.Models())
	if err != nil {
		return r, err
	}
	s, err := run.Scorer().Evaluate(mean)
	r.views, r.members, r.accuracy, r.loss = o.Log.Len(), len(o.IDs), s.Accuracy, s.Loss
	r.sent, r.seconds = float64(o.Sent.Wire), o.Time.Seconds()
	return r, err
}

// meanOf returns the average model.
func meanOf(models score.InMemory) (mean []float32, err error) {
	_, err = score.Mean(models, func(part []float32) bool {
		mean = append(mean, part...)
		return true
	})
	return mean, err
}

// write makes all runs and writes the document and its picture.
func write(ctx context.Context, output string, p plan) error {
	if p.rounds < 1 || p.most < 16 || p.most > 256 {
		return fmt.Errorf("%d rounds, at most %d founders: must be at least 1, and 16 to 256", p.rounds, p.most)
	}
	var results []result
	for _, c := range cells(p) {
		r, err := c.run(ctx, p)
		if err != nil {
			return fmt.Errorf("%d workers, %s, %s, rate %v: %w", c.size, c.graph, c.codec.name, c.rate, err)
		}
		fmt.Fprintf(os.Stderr, "%d %s %s %v: %d views, accuracy %.4f %s\n", c.size, c.graph, c.codec.name, c.rate, r.views,
			r.accuracy, r.failed)
		results = append(results, r)
	}
	if output == "" {
		return markdown.Write("", document(results, p, ""))
	}
	picture := strings.TrimSuffix(output, filepath.Ext(output)) + ".png"
	var drawn bytes.Buffer
	if err := sketch(&drawn, results, p); err != nil {
		return err
	}
	if err := markdown.Write(picture, drawn.String()); err != nil {
		return err
	}
	return markdown.Write(output, document(results, p, filepath.Base(picture)))
}

// sketch draws error and bytes against the rate, for the most workers and both codecs. A logarithmic axis has no 0, so
// the curves begin at the smallest rate above it.
func sketch(out *bytes.Buffer, results []result, p plan) error {
	left := chart.Lines{X: "changes per member and 1000 exchanges", Y: "test error"}
	right := chart.Lines{X: left.X, Y: "MB sent per member at the end"}
	largest := 0
	for _, r := range results {
		largest = max(largest, r.size)
	}
	for _, graph := range graphs {
		for _, codec := range codecs {
			wrong, sent := chart.Line{Name: graph + ", " + codec.name}, chart.Line{Name: graph + ", " + codec.name}
			for _, r := range results {
				if r.size != largest || r.graph != graph || r.codec.name != codec.name || r.failed != "" {
					continue
				}
				wrong.X, wrong.Y = append(wrong.X, 1000*r.rate), append(wrong.Y, 1-r.accuracy)
				sent.X, sent.Y = append(sent.X, 1000*r.rate), append(sent.Y, r.sent/1e6/float64(r.members))
			}
			if len(wrong.X) > 0 {
				left.Lines, right.Lines = append(left.Lines, wrong), append(right.Lines, sent)
			}
		}
	}
	return chart.WriteLines(out, left, right, "png")
}

func document(results []result, p plan, picture string) string {
	rows := [][]string{{"founders", "graph", "sends", "rate", "views", "members at the end", "accuracy", "loss", "sent",
		"virtual time"}}
	for _, r := range results {
		row := []string{strconv.Itoa(r.size), r.graph, r.codec.name, strconv.FormatFloat(r.rate, 'g', -1, 64)}
		if r.failed != "" {
			row = append(row, r.failed, "", "", "", "", "")
		} else {
			row = append(row, strconv.Itoa(r.views), strconv.Itoa(r.members), fmt.Sprintf("%.4f", r.accuracy),
				fmt.Sprintf("%.4f", r.loss), human.Size(int64(r.sent)), human.Seconds(r.seconds))
		}
		rows = append(rows, row)
	}
	text := fmt.Sprintf(`# What churn costs

Members join, leave and die at random, in equal parts. The rate is the chance of one of these for each member in each
exchange. A logistic model learns the built-in digits for %d rounds of 8 samples per worker, with the seed 1. A member
that is silent for 500 ms is taken for dead, and a gradient takes 20 ms. Links take no time. Accuracy and loss are those
of the average model of the members at the end. Bytes are those of all members that ever were, on the wire.

Time grows with the deaths. Each holds the others for the grace and the agreement, unless one is under way already.
Bytes grow little: members send the same messages in each exchange, and only messages that were not heard are sent
again.

`, p.rounds)
	if picture != "" {
		text += "![Test error and bytes per member against the rate](" + picture + ")\n\n"
	}
	return text + markdown.Table(rows) + "\n`go run ./studies churn` makes this page.\n"
}
