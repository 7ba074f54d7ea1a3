package main

import (
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// A weigher measures the bits and the relative error of messages.
type weigher struct {
	messenger
	huff0, auto *entropy.Encoder
	coded       []byte
}

// everything is the cost of a link so slow that the time of a coder does not matter.
const everything entropy.LinkCost = 1

func newWeigher(m messenger) (*weigher, error) {
	w := &weigher{messenger: m}
	var err error
	if w.huff0, err = entropy.NewEncoder(entropy.Huff0, entropy.Costs{}); err != nil {
		return nil, err
	}
	w.auto, err = entropy.NewEncoder(entropy.Auto, entropy.Costs{})
	return w, err
}

// weigh returns the bits and the loss of the message of a round.
func (w *weigher) weigh(s sample) (cost, error) {
	payload, err := w.encode(nil, s)
	if err != nil {
		return cost{}, err
	}
	layout, d := w.layout(s), float64(len(s.gradient))
	c := cost{packed: 8 * float64(len(payload)) / d}
	if c.huff0, err = w.size(w.huff0, payload, layout); err != nil {
		return c, err
	}
	if c.auto, err = w.size(w.auto, payload, layout); err != nil {
		return c, err
	}
	if c.ideal, err = w.ideal(s, payload); err != nil {
		return c, err
	}
	c.huff0, c.auto, c.ideal = 8*c.huff0/d, 8*c.auto/d, c.ideal/d
	c.lost, err = w.lost(s)
	return c, err
}

// size returns the bytes of a payload after entropy coding.
func (w *weigher) size(by *entropy.Encoder, payload []byte, layout quant.Layout) (float64, error) {
	coded, coder, err := by.Encode(w.coded[:0], payload, layout, everything)
	w.coded = coded
	if coder == entropy.Plain {
		return float64(len(payload)), err
	}
	return float64(len(coded)), err
}
