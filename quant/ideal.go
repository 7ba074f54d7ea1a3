package quant

import "gossiptrainer/quant/levels"

// IdealBits returns the bits of a payload of d coordinates with an ideal code for its symbols, each on
// its own (order 0). It counts the headers in full, and the entropy of the symbols.
func (b *bucketed) IdealBits(d int, payload []byte) (float64, error) {
	if err := b.Check(d, payload); err != nil {
		return 0, err
	}
	counts, headers := make([]float64, b.packing.Levels()), 0
	for first := 0; first < d; {
		m := b.end(first, d) - first
		packed := b.read(payload[:b.bytes(m)])
		headers += 32 * len(b.header)
		for at := 0; at < m; at += b.block {
			symbols := b.symbols[:min(b.block, m-at)]
			bytes := b.packing.Len(len(symbols))
			if err := b.packing.Unpack(symbols, packed[:bytes]); err != nil {
				return 0, err // Check has tested the padding, so this cannot happen
			}
			for _, s := range symbols {
				counts[s]++
			}
			packed = packed[bytes:]
		}
		payload = payload[b.bytes(m):]
		first += m
	}
	for s := range counts {
		counts[s] /= float64(max(d, 1))
	}
	return float64(headers) + float64(d)*levels.Entropy(counts), nil
}

// IdealBits returns the bits of the buckets, and counts the table in full.
func (a *Adaptive) IdealBits(d int, payload []byte) (float64, error) {
	buckets, err := a.read(d, payload)
	if err != nil {
		return 0, err
	}
	bits, err := a.levels.IdealBits(d, buckets)
	return bits + float64(8*(len(payload)-len(buckets))), err
}
