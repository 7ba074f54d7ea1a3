package configs

import (
	"reflect"
	"slices"

	"gossiptrainer/internal/registry"
	"gossiptrainer/model"
)

// An effect is the row of one key, which has an effect while all its needs hold. A given key without effect is an
// error, see settle.
type effect struct {
	key   string
	needs []need
}

// always is for keys that need nothing.
var always []need

// effects has a row for every key of the schema. A row stands below the rows of the keys that it needs. The sections
// follow the run file, but algorithm comes first: it decides about the graph.
var effects = slices.Concat(algorithmEffects, compressorEffects(), []effect{
	{"name", always},
	{"seed", always},

	{"topology.kind", []need{ownGraph}},
	{"topology.size", always},
	{"topology.rows", []need{ofKinds("rows").or(0)}},
	{"topology.cols", []need{ofKinds("cols").or(0)}},
	{"topology.file", []need{ofKinds("file").or("")}},
	{"topology.degree", []need{ofKinds("degree").or(0)}},
	{"topology.chance", []need{ofKinds("chance").or(0.)}},
	{"topology.slack", []need{ownWeights}},

	{"membership.mode", always},
	{"membership.min", []need{comesAndGoes}},
	{"membership.max", []need{comesAndGoes}},
	{"membership.grace", []need{comesAndGoes}},
	{"membership.parent", []need{comesAndGoes}},

	{"wire.entropy", always},

	{"model.name", always},
	{"model.hidden", []need{ofModels("hidden")}},
	{"model.depth", []need{ofModels("depth")}},
	{"model.norm", []need{ofModels("norm")}},
	{"model.dim", []need{ofModels("dim")}},
	{"model.spread", []need{ofModels("spread")}},

	{"data.name", []need{samples}},
	{"data.dir", []need{samples, fromFiles, inFolder}},
	{"data.path", []need{samples, ofFile.or("")}},
	{"data.test", []need{samples, ofFile.or("")}},
	{"data.test_share", []need{samples, ofFile, untested}},
	{"data.label", []need{samples, ofFile.or(Name(""))}},
	{"data.features", []need{samples, ofFile.or([]Name{})}},
	{"data.skip", []need{samples, ofFile.or([]Name{})}},
	{"data.header", []need{samples, ofFile}},
	{"data.missing", []need{samples, ofFile.or([]Name{})}},
	{"data.untrained_classes", []need{samples, only("data.name", "file", "libsvm")}},
	{"data.standardise", []need{samples, ofFile.or(false)}},
	{"data.encode", []need{samples, ofFile.or(false)}},
	{"data.partition", []need{samples}},
	{"data.per_worker", []need{samples, only("data.partition", "labels")}},
	{"data.alpha", []need{samples, only("data.partition", "dirichlet")}},
	{"data.sizes.law", []need{samples.or("natural")}},
	{"data.sizes.shares", []need{samples.or([]float64{}), only("data.sizes.law", "shares").or([]float64{})}},
	{"data.sizes.exponent", []need{samples, only("data.sizes.law", "power")}},
	{"data.sizes.alpha", []need{samples, only("data.sizes.law", "dirichlet")}},
	{"data.label_noise", []need{samples.or([]float64{})}},
	{"data.indices", []need{samples, only("data.name", "file", "libsvm")}},
	{"data.dimension", []need{samples, only("data.name", "file", "libsvm").or(0)}},
	{"data.labels", []need{samples, only("data.name", "file", "libsvm").or([]Name{})}},

	{"train.epochs", []need{samples.or(0.)}},
	{"train.rounds", []need{byRounds}},
	{"train.batch", []need{samples}},
	{"train.step_size", []need{ownSteps.rest(1.)}},
	{"train.schedule", []need{ownSteps.rest("constant")}},
	{"train.warmup", []need{ownSteps.or(0)}},
	{"train.drop.every", []need{ownSteps, only("train.schedule", "step")}},
	{"train.drop.factor", []need{ownSteps, only("train.schedule", "step")}},
	{"train.optimizer.name", []need{ownSteps.rest("sgd"), plainSteps.or("sgd")}},
	{"train.optimizer.beta1", []need{ownSteps, only("train.optimizer.name", "adamw", "lion")}},
	{"train.optimizer.beta2", []need{ownSteps, only("train.optimizer.name", "adamw", "lion")}},
	{"train.optimizer.eps", []need{ownSteps, only("train.optimizer.name", "adamw")}},
	{"algorithm.mean_gradients", []need{of(hasForms).or(false), ownSteps.or(false)}},
	{"train.optimizer.clip_norm", []need{ownSteps.or(0.)}},
	{"train.momentum", []need{ownSteps.rest(0.), plainMomentum.or(0.), only("train.optimizer.name", "sgd").or(0.)}},
	{"train.weight_decay", []need{ownSteps}},
	{"data.weights", []need{samples.or("workers"), scaledSteps.or("workers"), equalSteps.or("workers")}},
	{"train.augment", []need{samples.or("none")}},
	{"train.from", []need{startsFromFile.or("")}},
	{"train.slow", always},

	{"limit.rate", always},
	{"limit.burst", []need{limitedRate}},
	{"limit.latency", always},
	{"limit.jitter", always},
	{"limit.loss", []need{lossyLink}},
	{"limit.links", always},
	{"limit.links.*.rate", always},
	{"limit.links.*.burst", []need{limitedRate}},
	{"limit.links.*.latency", always},
	{"limit.links.*.jitter", always},
	{"limit.links.*.loss", []need{lossyLink}},

	{"peers", always},
	{"peers.*.id", always},
	{"peers.*.addrs", always},

	{"node.listen", always},
	{"node.transport", always},
	{"node.security", []need{only("node.transport", "tcp")}},
	{"node.trusted", []need{only("node.security", "none")}},
	{"node.key", always},
	{"node.join_secret", always},
	{"node.join_secret_file", always},
	{"node.detect", always},
	{"node.open_links", always},
	{"node.metrics", always},

	{"faults.on_lost_neighbor", []need{sameWorkers.or("wait")}},
	{"faults.tolerance", always},
	{"faults.script", always},
	{"faults.script.*.at", always},
	{"faults.script.*.kill", always},
	{"faults.script.*.cut", always},
	{"faults.script.*.hang", always},
	{"faults.script.*.slow", always},
	{"faults.script.*.by", always},
	{"faults.script.*.partition", always},
	{"faults.script.*.rate", always},
	{"faults.script.*.of", always},
	{"faults.script.*.join", always},
	{"faults.script.*.leave", always},
	{"faults.script.*.die", always},
	{"faults.script.*.for", always},

	{"checkpoint.every", always},
	{"checkpoint.seconds", always},
	{"checkpoint.dir", []need{checkpoints.or("")}},
	{"checkpoint.keep", []need{checkpoints}},
	{"checkpoint.journal", []need{checkpoints.or(AutoSize), sharedRounds.or(AutoSize)}},

	{"output.dir", always},
	{"output.every", always},
	{"output.evaluate", []need{ownScores}},
	{"output.evaluate_samples", []need{samples.or(0)}},
	{"output.replica_samples", []need{ownScores, samples}},
})

var algorithmEffects = []effect{
	{"algorithm.name", always},
	{"algorithm.reduce", []need{of(hasForms)}},
	{"algorithm.error_feedback", []need{of(feedsBack).or(false), lossyReduce.or(false)}},
	{"algorithm.controller.name", always},
	{"algorithm.controller.min_bits", []need{controlled}},
	{"algorithm.controller.max_bits", []need{controlled}},
	{"algorithm.codec", []need{modelsByCodec.or(registry.Full), choosingCodec.or(registry.Full), fewBits}},
	{"algorithm.bits", []need{lossyReduce.or(32), modelsByCodec.rest(32), quantizing.or(32), chosenBits}},
	{"algorithm.levels", []need{modelsByCodec.or(0), quantizing.or(0)}},
	{"algorithm.rounding", []need{modelsByCodec, quantizing, fewBits}},
	{"algorithm.theta.rule", []need{modelsByCodec, quantizing, fewBits}},
	{"algorithm.theta.value", []need{modelsByCodec.or(0.), quantizing.or(0.), fewBits.or(0.),
		only("algorithm.theta.rule", "fixed").or(0.)}},
	{"algorithm.theta.second", []need{modelsByCodec.or(0.), quantizing.or(0.), fewBits.or(0.), of(hasLanes).or(0.),
		only("algorithm.theta.rule", "fixed").or(0.)}},
	{"algorithm.theta.bound", []need{modelsByCodec.or(0.), quantizing.or(0.), fewBits.or(0.)}},
	{"algorithm.theta.verify", []need{modelsByCodec, quantizing, fewBits}},
	{"algorithm.order", []need{of(ordered)}},
	{"algorithm.gamma", []need{of(hasGamma).instead("topology.slack")}},
	{"algorithm.update.momentum", []need{of(hasMomentum).instead("train.momentum")}},
	{"algorithm.update.eta", []need{of(hasEta).or(1.)}},
	{"algorithm.clip.radius", []need{of(clips).or(0.)}},
	{"algorithm.clip.liars", []need{of(clips).or(0)}},
	{"algorithm.local_steps", always},
}

// ofModels is the need of a setting of some models.
func ofModels(setting string) need { return only("model.name", model.Names(setting)...) }

// ofKinds is the need of a setting of some kinds of graphs.
func ofKinds(setting string) need { return only("topology.kind", kindsWith(setting)...) }

// of is the need of a setting of some algorithms.
func of(fits func(registry.Algorithm) bool) need {
	return only("algorithm.name", registry.Names(fits)...)
}

// compressorEffects returns a row for each setting of a compressor. The rows of the compressors say which they take.
func compressorEffects() (all []effect) {
	more := map[string]need{"bits": fixedBits, "ratio": byRatio}
	for field := range reflect.TypeFor[Compressor]().Fields() {
		setting := field.Tag.Get("json")
		needs := []need{lossyReduce, compressed}
		if setting != "name" {
			needs = append(needs, only("algorithm.compressor.name", registry.CompressorNames(setting)...))
		}
		if n, ok := more[setting]; ok {
			needs = append(needs, n)
		}
		all = append(all, effect{"algorithm.compressor." + setting, needs})
	}
	return all
}
