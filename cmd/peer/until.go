package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// An until is what ends a run before its rounds are over.
type until struct {
	time    time.Duration // virtual in sim, on the clock in lab
	targets record.Targets
}

// addUntil adds the flag of commands whose runs may end early.
func addUntil(cmd *cobra.Command, settings *[]string) {
	cmd.Flags().StringArrayVar(settings, "until", nil, "end it early at time, or loss and accuracy: `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("until", completeUntil)
}

// parseUntil reads the values of --until of a command.
func parseUntil(command string, settings []string) (until, error) {
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
			return u, advice.OneOf(command+": --until", key, []string{"time", "loss", "accuracy"})
		}
		if err != nil || !(number > 0) || math.IsInf(number, 0) || key == "accuracy" && number > 1 {
			return u, advice.Usagef("%s: --until %s: want time=10m, loss=0.5 or accuracy=0.9", command, s)
		}
	}
	return u, nil
}

// check says why a run cannot end so.
func (u until) check(run *experiment.Run) error {
	if u.targets.Accuracy > 0 && run.Config().Output.Evaluate == 0 {
		return configs.Errorf("output.evaluate", "is 0, so that it is not known when accuracy %g is reached: give the rounds between evaluations", u.targets.Accuracy)
	}
	return nil
}

// timeUp is what ends a run whose time is up, as in --until.
func (u until) timeUp() string { return fmt.Sprintf("time=%v", u.time) }

// reached is what ends a run at its targets.
func (u until) reached() string {
	var all []string
	if u.targets.Loss > 0 {
		all = append(all, fmt.Sprintf("loss=%g", u.targets.Loss))
	}
	if u.targets.Accuracy > 0 {
		all = append(all, fmt.Sprintf("accuracy=%g", u.targets.Accuracy))
	}
	return strings.Join(all, " and ")
}

// String says what ends the run.
func (u until) String() string {
	var all []string
	if u.time > 0 {
		all = append(all, u.timeUp())
	}
	if at := u.reached(); at != "" {
		all = append(all, at)
	}
	return strings.Join(all, " or ")
}
