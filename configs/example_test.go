package configs_test

import (
	"fmt"

	"gossiptrainer/configs"
)

func ExampleLoad() {
	l, err := configs.Load(configs.Source{
		File: "ring8", Set: []string{"algorithm.bits=4", "train.rounds=100"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := l.Config
	fmt.Println(c.Algorithm.Name, c.Algorithm.Codec, c.Algorithm.Bits, "bits,", c.Train.Rounds, "rounds")
	fmt.Println("algorithm.bits comes from", l.Origin("algorithm.bits"))
	// Output:
	// dpsgd moniqua 4 bits, 100 rounds
	// algorithm.bits comes from --set
}

// Everything that is wrong is found at once.
func ExampleError() {
	_, err := configs.Load(configs.Source{Set: []string{"train.batch=0", "train.rounds=-1"}})
	fmt.Println(err)
	// Output:
	// configs: train.batch: must be at least 1, got 0: --set train.batch=0
	// configs: train.rounds: must be at least 1, got -1: --set train.rounds=-1
}
