package experiment

// Memory returns the least number of bytes that a worker takes: its model, gradient, direction and message, and the
// memory for a batch.
func (r *Run) Memory() int64 {
	const vectors = 4
	of := vectors
	switch {
	case r.cfg.External():
		of++ // the vector that the program shares
	case r.data == nil:
		of += 2 // curvatures and optimum of a quadratic
	}
	return floatBytes * (int64(of)*int64(r.dim) + int64(r.cfg.Train.Batch)*int64(r.sample))
}
