package model

import "math"

// crossEntropy returns −Σ log softmax(logits)[label] over the samples and how
// many of them have their label as the largest logit, the lowest class of a
// tie. The largest logit is subtracted before exp, so that none overflows.
func crossEntropy(logits []float32, labels []int32) (loss float64, correct int) {
	classes := len(logits) / max(1, len(labels))
	for i, label := range labels {
		z := logits[i*classes : (i+1)*classes]
		best := argmax(z)
		if best == int(label) {
			correct++
		}
		sum := 0.0
		for _, v := range z {
			sum += math.Exp(float64(v) - float64(z[best]))
		}
		loss += math.Log(sum) - (float64(z[label]) - float64(z[best]))
	}
	return loss, correct
}

// crossEntropyGradient does as crossEntropy and writes the gradient of the mean
// cross entropy with respect to the logits, (softmax(z) − onehot(label))/n, into
// dz.
func crossEntropyGradient(dz, logits []float32, labels []int32) (loss float64, correct int) {
	classes := len(logits) / max(1, len(labels))
	scale := 1 / float64(len(labels))
	for i, label := range labels {
		z, d := logits[i*classes:(i+1)*classes], dz[i*classes:(i+1)*classes]
		best := argmax(z)
		if best == int(label) {
			correct++
		}
		sum := 0.0
		for c, v := range z {
			e := math.Exp(float64(v) - float64(z[best]))
			sum += e
			d[c] = float32(e)
		}
		for c, e := range d {
			d[c] = float32(float64(e) / sum * scale)
		}
		d[label] -= float32(scale)
		loss += math.Log(sum) - (float64(z[label]) - float64(z[best]))
	}
	return loss, correct
}

// softmax writes the probabilities of the classes of each sample into p. The largest logit is subtracted before exp, so
// that none overflows.
func softmax(p []float64, logits []float32, classes int) {
	for first := 0; first < len(logits); first += classes {
		z, one := logits[first:first+classes], p[first:first+classes]
		best, sum := float64(z[argmax(z)]), 0.0
		for c, v := range z {
			one[c] = math.Exp(float64(v) - best)
			sum += one[c]
		}
		for c := range one {
			one[c] /= sum
		}
	}
}

// argmax returns the index of the largest value, the lowest of a tie.
func argmax(z []float32) int {
	best := 0
	for c, v := range z {
		if v > z[best] {
			best = c
		}
	}
	return best
}
