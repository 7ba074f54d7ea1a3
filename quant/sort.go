package quant

import "slices"

// A sorter sorts vectors in memory that it keeps.
type sorter struct {
	values    []float32
	keys, out []uint32
}

const (
	digitLen = 11      // bits of a pass: three passes make a float
	fewest   = 512     // values from which passes are faster
	dense    = 1 << 14 // from here on, many values share the upper two digits
)

// sort returns the finite values z in ascending order, valid until the next call. Zeros of either sign
// are equal. It makes a pass for each digit, from the lowest. Of fewer than dense values, few share
// the two upper digits, so it skips the lowest digit and sorts those few afterwards.
func (s *sorter) sort(z []float32) []float32 {
	s.values = slices.Grow(s.values[:0], len(z))[:len(z)]
	if len(z) < fewest {
		copy(s.values, z)
		slices.Sort(s.values)
		return s.values
	}
	s.keys = slices.Grow(s.keys[:0], len(z))[:len(z)]
	s.out = slices.Grow(s.out[:0], len(z))[:len(z)]
	var counts [3][1 << digitLen]uint32
	for i, v := range z {
		key := uint32(order(v)) ^ 1<<31
		s.keys[i] = key
		counts[1][digit(key, 1)]++
		counts[2][digit(key, 2)]++
	}
	if len(z) >= dense {
		for _, key := range s.keys {
			counts[0][digit(key, 0)]++
		}
		s.scatter(&counts[0], 0)
	}
	s.scatter(&counts[1], 1)
	s.finish(&counts[2])
	if len(z) < dense {
		finishLowest(s.values)
	}
	return s.values
}

// scatter orders the keys by one digit, whose values counts has counted.
func (s *sorter) scatter(counts *[1 << digitLen]uint32, pass int) {
	begin(counts)
	for _, key := range s.keys {
		d := digit(key, pass)
		s.out[counts[d]] = key
		counts[d]++
	}
	s.keys, s.out = s.out, s.keys
}

// finish orders the keys by the upper digit, and turns them into values.
func (s *sorter) finish(counts *[1 << digitLen]uint32) {
	begin(counts)
	for _, key := range s.keys {
		d := digit(key, 2)
		s.values[counts[d]] = ordered(int64(int32(key ^ 1<<31)))
		counts[d]++
	}
}

// begin replaces the counts of digits by the place of the first key of each.
func begin(counts *[1 << digitLen]uint32) {
	total := uint32(0)
	for d, n := range counts {
		counts[d], total = total, total+n
	}
}

// finishLowest sorts values that are in order except for the lowest digit.
func finishLowest(values []float32) {
	for i := 1; i < len(values); i++ {
		if !(values[i] < values[i-1]) {
			continue
		}
		first, end := i-1, i+1
		for first > 0 && alike(values[first-1], values[i]) {
			first--
		}
		for end < len(values) && alike(values[end], values[i]) {
			end++
		}
		slices.Sort(values[first:end])
		i = end
	}
}

// alike reports whether the keys of a and b have the same upper digits.
func alike(a, b float32) bool {
	return (order(a)^order(b))>>digitLen == 0
}

func digit(key uint32, pass int) uint32 {
	return key >> (uint(pass) * digitLen) & (1<<digitLen - 1)
}
