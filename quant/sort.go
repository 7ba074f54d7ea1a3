package quant

import "slices"

// A sorter has the memory to sort vectors, again and again.
type sorter struct {
	values    []float32
	keys, out []uint32
}

const (
	digitLen = 11  // bits sorted by in one pass: three make a float
	fewest   = 512 // values for which passes pay
)

// sort returns the finite values z in ascending order, valid until the next
// call. Zeros of either sign are equal.
func (s *sorter) sort(z []float32) []float32 {
	s.values = append(s.values[:0], z...)
	if len(z) < fewest {
		slices.Sort(s.values)
		return s.values
	}
	s.keys = slices.Grow(s.keys[:0], len(z))[:len(z)]
	s.out = slices.Grow(s.out[:0], len(z))[:len(z)]
	var counts [3][1 << digitLen]uint32
	for i, v := range z {
		key := uint32(order(v)) ^ 1<<31
		s.keys[i] = key
		counts[0][digit(key, 0)]++
		counts[1][digit(key, 1)]++
		counts[2][digit(key, 2)]++
	}
	for pass := range counts {
		s.scatter(&counts[pass], pass)
	}
	for i, key := range s.keys {
		s.values[i] = ordered(int64(int32(key ^ 1<<31)))
	}
	return s.values
}

// scatter orders the keys by one digit, those of which counts has counted.
func (s *sorter) scatter(counts *[1 << digitLen]uint32, pass int) {
	total := uint32(0)
	for d, n := range counts {
		counts[d], total = total, total+n
	}
	for _, key := range s.keys {
		d := digit(key, pass)
		s.out[counts[d]] = key
		counts[d]++
	}
	s.keys, s.out = s.out, s.keys
}

func digit(key uint32, pass int) uint32 {
	return key >> (uint(pass) * digitLen) & (1<<digitLen - 1)
}
