package conformance

// reduceBytes returns the bytes that each worker of an all-reduce sends. The reference counts 0 for a plain all-reduce.
// For a server it ignores the bytes from the server to the others, and it counts the server's own gradient although it
// is not sent.
func (r *run) reduceBytes() []int {
	want, d, n := make([]int, len(r.rows)), len(r.X0[0]), len(r.rows)
	copy(want, r.BytesSent)
	switch {
	case r.MadeBy != "": // the program's own bytes
	case r.Algorithm.Server == "double":
		want[0] *= n - 1
	case r.Algorithm.Server != "":
		want[0] = r.Steps * (n - 1) * 4 * d
	case r.Algorithm.Compressor == nil:
		for i := range want {
			for hop := range n - 1 { // worker i sends all chunks but i+1 in the reduction, all but i+2 in the gathering
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
