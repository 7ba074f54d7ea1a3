package models

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// guess finds the model whose names and shapes a file without metadata has.
func (r Request) guess(head train.Saved, set []string) (*experiment.Run, error) {
	var failed error // of the first model that cannot learn these data
	var tried []string
	for _, settings := range candidates(head.Layout) {
		run, err := assemble("", slices.Concat(set, []string{settings}, r.Set), new(data.Trained))
		if err != nil {
			if _, unfit := errors.AsType[*configs.Error](err); !unfit {
				return nil, err
			}
			failed = cmp.Or(failed, err)
			continue
		}
		if run.Files().Match(head, r.Model) == nil {
			return run, nil
		}
		tried = append(tried, run.Config().Model.Name)
	}
	if len(tried) == 0 {
		return nil, failed
	}
	return nil, &FileError{
		fmt.Errorf("evaluate: %s: its metadata name no model, and its names and shapes are not those of %s", r.Model,
			strings.Join(tried, ", ")),
		"--set model.name=" + tried[0] + " shows how the file and that model differ",
	}
}

// candidates returns the settings of the models that may have a layout, by what the names and shapes tell.
func candidates(layout []model.Param) []string {
	var dense []string // widths, by number of the layer; files may name the layers in any order
	blocks, norm := 0, "group"
	for _, p := range layout {
		number, isDense := strings.CutPrefix(strings.TrimSuffix(p.Name, ".weight"), "dense")
		if k, err := strconv.Atoi(number); isDense && err == nil && k >= 1 && k <= len(layout) && len(p.Shape) == 2 {
			dense = append(dense, make([]string, max(0, k-len(dense)))...)
			dense[k-1] = fmt.Sprint(p.Shape[0])
		}
		if strings.HasPrefix(p.Name, "stage1.block") && strings.HasSuffix(p.Name, ".conv1.weight") {
			blocks++
		}
		if strings.HasSuffix(p.Name, ".running_mean") {
			norm = "batch"
		}
	}
	all := []string{"model={name: logistic}", "model={name: lenet}", "model={name: vgg11}",
		"model={name: vgg16, norm: " + norm + "}"}
	if n := len(dense); n > 1 && !slices.Contains(dense, "") {
		all = append(all, "model={name: mlp, hidden: ["+strings.Join(dense[:n-1], ", ")+"]}")
	}
	if blocks > 0 {
		all = append(all, fmt.Sprintf("model={name: resnet, depth: %d, norm: %s}", 6*blocks+2, norm))
	}
	return all
}
