package conformance

// reduceBytes returns what the workers of an all-reduce send. The reference does
// not count that of a plain one, and of a server neither what it tells the
// others, as much as they tell it if it is compressed again, nor that its own
// gradient stays at home.
func (r *run) reduceBytes() []int {
	want, d, n := make([]int, len(r.rows)), len(r.X0[0]), len(r.rows)
	copy(want, r.BytesSent)
	switch {
	case r.Algorithm.Server == "double":
		want[0] *= n - 1
	case r.Algorithm.Server != "":
		want[0] = r.Steps * (n - 1) * 4 * d
	case r.Algorithm.Compressor == nil:
		for i := range want {
			for hop := range n - 1 { // all chunks but i+1 are sent while reducing, all but i+2 while gathering
				want[i] += r.Steps * (chunkBytes(d, n, i-hop) + chunkBytes(d, n, i+1-hop))
			}
		}
	}
	return want
}

// chunkBytes returns the size of chunk c modulo n of d floats.
func chunkBytes(d, n, c int) int {
	c = (c + n) % n
	return 4 * ((c+1)*d/n - c*d/n)
}
