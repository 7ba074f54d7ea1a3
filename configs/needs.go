package configs

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/registry"
)

// A need is a condition without which a key has no effect.
type need struct {
	on    []string // the keys that decide
	holds func(c *Config, key string) bool
	why   func(c *Config) string // the condition that holds instead
	hint  func(c *Config) string

	value  any  // of the key without effect; nil = the default
	stated bool // a file may state that value, because it is true
}

// rest gives a key another value than its default where it has no effect.
func (n need) rest(value any) need {
	n.value = value
	return n
}

// or is rest with a value that describes the run correctly, so that a file may state it.
func (n need) or(value any) need {
	n.stated = true
	return n.rest(value)
}

// instead names the key that has the same purpose for other algorithms.
func (n need) instead(key string) need {
	hint := n.hint
	n.hint = func(c *Config) string { return fmt.Sprintf("%s; for %s there is %s", hint(c), c.Algorithm.Name, key) }
	return n
}

// only is the need of a setting that belongs to some values of another key.
func only(key string, values ...string) need {
	return need{
		on:    []string{key},
		holds: func(c *Config, _ string) bool { return slices.Contains(values, valueOf(c, key).String()) },
		why: func(c *Config) string {
			return fmt.Sprintf("it is a setting of %s, but %s is %s", either(values), key, valueOf(c, key))
		},
		hint: func(*Config) string { return fmt.Sprintf("leave it out, or set %s to %s", key, either(values)) },
	}
}

var (
	ownGraph = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return c.row().On.Kind == "" },
		why:   func(c *Config) string { return c.Algorithm.Name + " has a graph of its own" },
		hint:  func(*Config) string { return "topology.size gives the workers, algorithm.reduce the graph" },
	}
	ownWeights = need{
		on: ownGraph.on, holds: ownGraph.holds,
		why:  func(c *Config) string { return c.Algorithm.Name + " takes the mean of all workers, with no weights" },
		hint: func(c *Config) string { return "leave it out for " + c.Algorithm.Name },
	}
	modelsByCodec = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return c.row().ByCodec() },
		why:   func(c *Config) string { return c.Algorithm.Name + " sends no models by a codec" },
		hint: func(c *Config) string {
			if !lossyReduce.holds(c, "") {
				return lossyReduce.hint(c)
			}
			key := "algorithm.compressor.bits sets the bits"
			if !c.compressor().Has("bits") {
				key = "algorithm.compressor.name chooses the compressor"
			}
			return fmt.Sprintf("%s of %s", key, c.Algorithm.Name)
		},
	}
	quantizing = need{
		on:    []string{"algorithm.codec"},
		holds: func(c *Config, _ string) bool { return c.Algorithm.Codec != "full" },
		why:   func(*Config) string { return "the codec full sends 32 bits per parameter" },
		hint: func(c *Config) string {
			if !c.row().ByMoniqua() {
				return "leave it out"
			}
			return "leave it out, or set algorithm.codec to moniqua"
		},
	}
	choosingCodec = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return len(c.row().Sends.Codecs) > 1 },
		why: func(c *Config) string {
			return fmt.Sprintf("%s sends models only by the codec %s", c.Algorithm.Name, either(c.row().Sends.Codecs))
		},
		hint: func(c *Config) string { return "leave it out for " + c.Algorithm.Name },
	}
	fewBits = need{
		on:    []string{"algorithm.bits"},
		holds: func(c *Config, _ string) bool { return c.Algorithm.Bits != 32 || c.Algorithm.Codec == "full" },
		why:   func(*Config) string { return "32 bits per parameter are full precision, without moniqua" },
		hint:  func(*Config) string { return "leave it out, or set algorithm.bits to 1 to 16" },
	}
	controlled = need{
		on:    []string{"algorithm.controller.name"},
		holds: func(c *Config, _ string) bool { return c.Algorithm.Controller.Name != "fix" },
		why:   func(*Config) string { return "the controller fix never changes the bits" },
		hint: func(c *Config) string {
			key := "algorithm.compressor.bits"
			if c.row().ByCodec() {
				key = "algorithm.bits"
			}
			return fmt.Sprintf("%s sets them; or set algorithm.controller.name to oland-raj or mqgrad", key)
		},
	}
	fixedBits = need{
		on:    []string{"algorithm.controller.name"},
		holds: func(c *Config, _ string) bool { return c.Algorithm.Controller.Name == "fix" },
		why:   func(c *Config) string { return c.Algorithm.Controller.Name + " chooses the bits" },
		hint: func(*Config) string {
			return "set algorithm.controller.min_bits and max_bits, or algorithm.controller.name to fix"
		},
	}
	chosenBits = need{
		on:    []string{"algorithm.controller.name"},
		holds: func(c *Config, _ string) bool { return fixedBits.holds(c, "") || c.Algorithm.Bits == 32 },
		why:   fixedBits.why, hint: fixedBits.hint,
	}
	lossyReduce = need{
		on:    []string{"algorithm.reduce", "algorithm.name"},
		holds: func(c *Config, _ string) bool { return c.row().ByCodec() || c.row().Compresses() },
		why: func(c *Config) string {
			if row := c.row(); row.Form != "" {
				return fmt.Sprintf("the reduce %s of %s sends full precision", row.Form, row.Name)
			}
			return c.Algorithm.Name + " sends full precision"
		},
		hint: func(c *Config) string {
			if forms := lossyForms(c.Algorithm.Name); len(forms) > 0 {
				return "leave it out, or set algorithm.reduce to " + either(forms)
			}
			return "leave it out"
		},
	}
	compressed = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return c.row().Compresses() },
		why:   func(c *Config) string { return c.Algorithm.Name + " has no compressor, it sends models by a codec" },
		hint: func(c *Config) string {
			return fmt.Sprintf("algorithm.codec and algorithm.bits say how %s sends models", c.Algorithm.Name)
		},
	}
	byRatio = need{
		on:    []string{"algorithm.compressor.k"},
		holds: func(c *Config, _ string) bool { return c.Algorithm.Compressor.K == 0 },
		why:   func(c *Config) string { return fmt.Sprintf("k is given, %d", c.Algorithm.Compressor.K) },
		hint:  func(*Config) string { return "give one of algorithm.compressor.k and ratio" },
	}
	samples = need{
		on:    []string{"model.name"},
		holds: func(c *Config, _ string) bool { return c.LearnsFromData() },
		why: func(c *Config) string {
			if c.External() {
				return "the script of an external model reads its own samples"
			}
			return "a " + c.Model.Name + " has no samples"
		},
		hint: func(*Config) string { return "leave it out, or set model.name to another" },
	}
	ownSteps = need{
		on:    []string{"model.name"},
		holds: func(c *Config, _ string) bool { return !c.External() },
		why:   func(*Config) string { return "the script of an external model takes the local step" },
		hint: func(*Config) string {
			return "leave it out and set the optimizer in the script, or set model.name to another"
		},
	}
	byRounds = need{
		on:    []string{"train.epochs"},
		holds: func(c *Config, _ string) bool { return c.Train.Epochs == 0 },
		why: func(c *Config) string {
			return fmt.Sprintf("train.epochs says how long the run is, %v", c.Train.Epochs)
		},
		hint: func(*Config) string { return "give one of train.rounds and train.epochs" },
	}
	plainMomentum = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return !c.row().Takes.Momentum },
		why:   func(c *Config) string { return c.Algorithm.Name + " has a momentum of its own" },
		hint:  func(*Config) string { return "remove train.momentum, and set algorithm.update.momentum" },
	}
	plainSteps = need{
		on: plainMomentum.on, holds: plainMomentum.holds, why: plainMomentum.why,
		hint: func(c *Config) string {
			return "remove train.optimizer, which is sgd for " + c.Algorithm.Name + ", or set algorithm.name to another"
		},
	}
	ownScores = need{
		on:    []string{"model.name"},
		holds: func(c *Config, _ string) bool { return !c.External() },
		why:   func(*Config) string { return "the script of an external model evaluates it" },
		hint:  func(*Config) string { return "leave it out and evaluate in the script, or set model.name to another" },
	}
	startsFromFile = need{
		on: samples.on, holds: samples.holds,
		why: func(c *Config) string {
			if c.External() {
				return "an external model starts as the script of worker 0 says"
			}
			return "a " + c.Model.Name + " starts as its seed says"
		},
		hint: samples.hint,
	}
	fromFiles = need{
		on:    []string{"data.name"},
		holds: func(c *Config, _ string) bool { return c.Data.Name != "glyphs" },
		why:   func(*Config) string { return "the data set glyphs is built in, no file is read" },
		hint: func(*Config) string {
			return "set data.name to the data set in that folder; file with data.path for your own"
		},
		value: "", stated: true,
	}
	inFolder = need{
		on:    []string{"data.name"},
		holds: func(c *Config, _ string) bool { return c.Data.Name != "file" },
		why:   func(*Config) string { return "the data set file is named by data.path" },
		hint:  func(*Config) string { return "leave it out, and set data.path to the file" },
		value: "", stated: true,
	}
	ofFile   = only("data.name", "file")
	untested = need{
		on:    []string{"data.test"},
		holds: func(c *Config, _ string) bool { return c.Data.Test == "" },
		why:   func(*Config) string { return "data.test names a file of test samples" },
		hint:  func(*Config) string { return "give one of data.test and data.test_share" },
	}
	limitedRate = need{
		on: []string{"limit.rate", "limit.links"},
		holds: func(c *Config, key string) bool {
			return valueOf(c, key[:strings.LastIndexByte(key, '.')]+".rate").String() != ""
		},
		why:   func(*Config) string { return "there is no rate that bytes could exceed for a while" },
		hint:  func(*Config) string { return "give a rate beside it" },
		value: 0, stated: true,
	}
	lossyLink = need{
		on: []string{"limit.rate", "limit.latency", "limit.links"},
		holds: func(c *Config, key string) bool {
			link := key[:strings.LastIndexByte(key, '.')]
			return valueOf(c, link+".rate").String() != "" || !valueOf(c, link+".latency").IsZero()
		},
		why: func(*Config) string {
			return "without a rate or a latency, a packet that is sent again costs no time"
		},
		hint:  func(*Config) string { return "give a rate or a latency beside it" },
		value: 0., stated: true,
	}
	checkpoints = need{
		on:    []string{"checkpoint.every", "checkpoint.seconds"},
		holds: func(c *Config, _ string) bool { return c.Checkpoint.Every > 0 || c.Checkpoint.Seconds > 0 },
		why:   func(*Config) string { return "no checkpoints are taken: every and seconds are 0" },
		hint:  func(*Config) string { return "set checkpoint.seconds or checkpoint.every" },
	}
	comesAndGoes = only("membership.mode", "view")
	sameWorkers  = need{
		on:    []string{"membership.mode"},
		holds: func(c *Config, _ string) bool { return !c.Views() },
		why:   func(*Config) string { return "members agree on a view without the one that is lost" },
		hint: func(*Config) string {
			return "leave it out: membership.grace says after how long a silence; or set membership.mode to fixed"
		},
	}
	sharedRounds = need{
		on:    []string{"algorithm.name"},
		holds: func(c *Config, _ string) bool { return !c.row().Asynchronous() },
		why:   func(c *Config) string { return c.Algorithm.Name + " sends no message again, and keeps none" },
		hint:  func(c *Config) string { return "leave it out for " + c.Algorithm.Name },
	}
)

// lossyForms returns the forms of an algorithm that compress.
func lossyForms(name string) []string {
	var forms []string
	for _, a := range registry.Algorithms() {
		if a.Name == name && a.Form != "" && a.Compresses() {
			forms = append(forms, a.Form)
		}
	}
	return forms
}
