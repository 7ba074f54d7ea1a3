package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"gossiptrainer/app/advice"
)

// A process is asked one of these at its socket. The answer is one JSON object.
const (
	asksStatus = "status\n"
	asksStop   = "stop\n"
	mostWord   = 16 // bytes
)

// A Stopped is the answer of a peer that was asked to stop its run.
type Stopped struct {
	Run     string `json:"run"`
	Pid     int    `json:"pid"`
	Folder  string `json:"folder"`
	Stopped bool   `json:"stopped"` // false: its workers stay, and a signal stops the run
}

// Write says what happens now.
func (s *Stopped) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "process %d has told the members of %s to stop: all end at one exchange, and write models "+
		"and logs\n", s.Pid, s.Run)
	return err
}

// Stop asks a peer of a run on this machine to end the run for all. Without a name there must be one run here.
func Stop(run string, dirs ...string) (*Stopped, error) {
	all := AskAll(dirs...)
	var runs []string
	for _, p := range all.Peers {
		if !slices.Contains(runs, p.Run) {
			runs = append(runs, p.Run)
		}
	}
	switch {
	case run == "" && len(runs) == 0:
		return nil, advice.Usage(errors.New("stop: no peer is running on this machine"),
			"type it on a machine of the run")
	case run == "" && len(runs) > 1:
		return nil, advice.Usage(fmt.Errorf("stop: there are peers of %d runs on this machine", len(runs)),
			"name one of them: "+fmt.Sprint(runs))
	case run == "":
		run = runs[0]
	}
	of, err := all.Of(run)
	if err != nil {
		return nil, err
	}
	for _, p := range of.Peers {
		for _, dir := range dirs {
			var answer Stopped
			text, err := ask(socketIn(dir, p.Pid), asksStop)
			if err == nil && json.Unmarshal(text, &answer) == nil && answer.Stopped {
				return &answer, nil
			}
		}
	}
	return nil, advice.Usage(fmt.Errorf("stop: the workers of %s do not come and go (membership.mode: fixed)", run),
		fmt.Sprintf("Ctrl-C, or kill -INT %d, on one machine stops the run for all", of.Peers[0].Pid))
}
