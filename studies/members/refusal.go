package main

import (
	"errors"
	"strings"

	"gossiptrainer/configs"
)

// refusal returns the first problem of a run that is refused, without the graph that it has.
func refusal(err error) (why string, refused bool) {
	problems, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return "", false
	}
	why, _, _ = strings.Cut(problems.Problems[0].Message, ", got ")
	return problems.Problems[0].Key + ": " + why, true
}
