package main

import (
	"errors"
	"strings"

	"gossiptrainer/configs"
)

// refusal reports whether a run is refused, and why its members cannot come and go: "" if only the graph does not suit.
func refusal(err error) (why string, refused bool) {
	problems, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return "", false
	}
	_, why, _ = strings.Cut(problems.Problems[0].Message, "members cannot come and go: ")
	return why, true
}
