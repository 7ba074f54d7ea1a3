package train

import (
	"fmt"

	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// augmentDomain separates the numbers of augmentations from all others under a seed.
const augmentDomain = 0x6175676d656e7473 // "augments"

// cropPad is how many pixels a random crop moves a picture by at most, in each direction.
const cropPad = 4

// An Augmenter changes the pictures of a worker's mini-batches at random, as He, Zhang, Ren and Sun do for CIFAR-10
// ("Deep Residual Learning", 2016, section 4.2). It adds cropPad pixels to each side, takes a crop of the old size at a
// random place, and mirrors every second picture. The pixels that it adds are zero, the mean of normalised ones.
//
// The draws for position p of the batch of round k are the numbers 3p, 3p+1 and 3p+2 of (seed, worker, k). They give
// the row and the column at which the crop begins, and whether it is mirrored. So a round needs no history. An
// Augmenter owns scratch memory and is not safe for concurrent use.
type Augmenter struct {
	seed    uint64
	shape   sample.Shape
	picture []float32 // as it was
}

// NewAugmenter returns the augmenter of a worker for pictures of more than one row and column.
func NewAugmenter(seed uint64, worker int, s sample.Shape) (*Augmenter, error) {
	if s.H < 2 || s.W < 2 {
		return nil, fmt.Errorf("train: augment: samples of %dx%dx%d values are no pictures", s.H, s.W, s.C)
	}
	return &Augmenter{rng.Stream(seed^augmentDomain, worker), s, make([]float32, s.Features())}, nil
}

// Change returns batches whose pictures the augmenter has changed, in the memory of next.
func (a *Augmenter) Change(next Batches) Batches {
	return func(k int) sample.Batch {
		batch := next(k)
		key, size := rng.At(a.seed, k), a.shape.Features()
		for p := range batch.Len() {
			at := uint32(3 * p)
			a.apply(batch.X[p*size:(p+1)*size], below(key.Raw(at), 2*cropPad+1)-cropPad,
				below(key.Raw(at+1), 2*cropPad+1)-cropPad, below(key.Raw(at+2), 2) == 1)
		}
		return batch
	}
}

// below maps a number of 32 random bits to 0..n−1.
func below(raw uint32, n int) int { return int(uint64(raw) * uint64(n) >> 32) }

// apply replaces a picture by its part from row dy and column dx on, which may lie outside in part or, where a picture
// is smaller than cropPad, completely. It mirrors that part if asked to.
func (a *Augmenter) apply(x []float32, dy, dx int, mirror bool) {
	copy(a.picture, x)
	clear(x)
	h, w, c := a.shape.H, a.shape.W, a.shape.C
	first, end := max(0, -dx), min(w, w-dx) // the columns of the crop that lie inside the picture
	if first >= end {
		return
	}
	for i := max(0, -dy); i < min(h, h-dy); i++ {
		from, to := a.picture[(i+dy)*w*c:(i+dy+1)*w*c], x[i*w*c:(i+1)*w*c]
		if !mirror {
			copy(to[first*c:], from[(first+dx)*c:(end+dx)*c])
			continue
		}
		for j := first; j < end; j++ {
			copy(to[(w-1-j)*c:(w-j)*c], from[(j+dx)*c:])
		}
	}
}
