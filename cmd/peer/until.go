package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/experiment"
	"gossiptrainer/report"
	"gossiptrainer/sim"
)

// An until is what ends a simulated run before its rounds are over.
type until struct {
	time    time.Duration
	targets report.Targets
}

// parseUntil reads the values of --until.
func parseUntil(settings []string) (until, error) {
	var u until
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch key {
		case "time":
			u.time, err = time.ParseDuration(value)
			number = float64(u.time)
		case "loss":
			u.targets.Loss = number
		case "accuracy":
			u.targets.Accuracy = number
		default:
			return u, oneOf("sim: --until", key, []string{"time", "loss", "accuracy"})
		}
		if err != nil || !(number > 0) || math.IsInf(number, 0) || key == "accuracy" && number > 1 {
			return u, usagef("sim: --until %s: want time=10m, loss=0.5 or accuracy=0.9", s)
		}
	}
	return u, nil
}

// check says why a run cannot end so.
func (u until) check(run *experiment.Run) error {
	if u.targets.Loss == 0 && u.targets.Accuracy > 0 && run.Config().Output.Evaluate == 0 {
		return configs.Errorf("output.evaluate", "is 0, so that nobody knows when accuracy %g is reached: give the rounds between evaluations", u.targets.Accuracy)
	}
	return nil
}

// ending returns how the simulator ends a run, and what must see its scores.
func (u until) ending(run *experiment.Run) (sim.Ending, *report.Goal) {
	goal := report.NewGoal(u.targets, run.N())
	e := sim.Ending{Time: u.time, Asynchronous: run.Asynchronous()}
	if u.targets != (report.Targets{}) {
		e.Until = goal.Reached
	}
	return e, goal
}
