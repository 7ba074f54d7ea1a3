// Package session is a run as its user sees it: its folder, record, display and summary. It ends a run early and says
// which state is safe when a run stops. It serves real and simulated peers.
//
// It trains nothing, and leaves tables and exit codes to the command line.
//
// It builds the run of a run file. Before it allocates or writes anything, it refuses a run that cannot work on this
// machine: for memory, for room on disks, or for its limits.
package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// An Until is a condition that ends a run before its rounds are over.
type Until struct {
	Time    time.Duration // virtual time in sim, wall clock in lab
	Targets record.Targets
}

// ParseUntil reads the values of --until of a command.
func ParseUntil(command string, settings []string) (Until, error) {
	var u Until
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch key {
		case "time":
			u.Time, err = time.ParseDuration(value)
			number = float64(u.Time)
		case "loss":
			u.Targets.Loss = number
		case "accuracy":
			u.Targets.Accuracy = number
		default:
			return u, advice.OneOf(command+": --until", key, []string{"time", "loss", "accuracy"})
		}
		if err != nil || !(number > 0) || math.IsInf(number, 0) || key == "accuracy" && number > 1 {
			return u, advice.Usagef("%s: --until %s: want time=10m, loss=0.5 or accuracy=0.9", command, s)
		}
	}
	return u, nil
}

// Check says why the condition cannot end a run.
func (u Until) Check(run *experiment.Run) error {
	cfg := run.Config()
	if err := cfg.CheckRecords(u.Targets.Loss); err != nil {
		return err
	}
	if u.Targets.Accuracy > 0 && cfg.Output.Evaluate == 0 && !cfg.External() {
		return configs.Errorf("output.evaluate",
			"is 0, so that it is not known when accuracy %g is reached: give the rounds between evaluations", u.Targets.Accuracy)
	}
	every, rounds := cfg.Output.Every, cfg.Train.Rounds.Known()
	if u.Targets.Accuracy > 0 && (every == 0 || rounds > 0 && every >= rounds) {
		return configs.Errorf("output.every", "is %d, so that no record before the last round can end the run at accuracy "+
			"%g: give the rounds between evaluations (output.evaluate), or fewer", every, u.Targets.Accuracy)
	}
	return nil
}

// TimeUp names the reason of a run whose time is up, as in --until.
func (u Until) TimeUp() string { return fmt.Sprintf("time=%v", u.Time) }

// Reached names the reason of a run that reaches its targets.
func (u Until) Reached() string {
	var all []string
	if u.Targets.Loss > 0 {
		all = append(all, fmt.Sprintf("loss=%g", u.Targets.Loss))
	}
	if u.Targets.Accuracy > 0 {
		all = append(all, fmt.Sprintf("accuracy=%g", u.Targets.Accuracy))
	}
	return strings.Join(all, " and ")
}

// Flags returns the values of --until.
func (u Until) Flags() []string {
	var all []string
	for _, one := range []Until{
		{Time: u.Time}, {Targets: record.Targets{Loss: u.Targets.Loss}},
		{Targets: record.Targets{Accuracy: u.Targets.Accuracy}},
	} {
		if one != (Until{}) {
			all = append(all, one.String())
		}
	}
	return all
}

// String describes the condition.
func (u Until) String() string {
	var all []string
	if u.Time > 0 {
		all = append(all, u.TimeUp())
	}
	if at := u.Reached(); at != "" {
		all = append(all, at)
	}
	return strings.Join(all, " or ")
}

// Gradients is the number of gradients that are timed if the virtual time of one is not given: the first one warms up.
const Gradients = 4
