package model

// Both normalizations are y = a·z + c per channel, with a and c made of the mean
// and the variance of z over some set of M values, and
//
//	dz = k·dy + p·z + q
//
// with k, p, q made of the sums of dy and dy·z over the same set. The kernels
// below go over one image; what the sets are is the layers' affair. Sums over
// a row are float32, sums of rows float64, so that the variance as mean square
// minus squared mean keeps enough digits.

// normEpsilon is added to variances, as in both papers' implementations.
const normEpsilon = 1e-5

// A moments holds per-channel sums, and scratch for one row.
type moments struct {
	first, second       []float64
	rowFirst, rowSecond []float32
}

func newMoments(channels int) moments {
	return moments{
		make([]float64, channels), make([]float64, channels),
		make([]float32, channels), make([]float32, channels),
	}
}

// reset sets the sums to zero.
func (m moments) reset() {
	clear(m.first)
	clear(m.second)
}

// add adds Σ u and Σ u·v over image b to the first and second sums.
func (m moments) add(u, v *tensor, b int) {
	for i := range u.h {
		clear(m.rowFirst)
		clear(m.rowSecond)
		pu, pv := u.row(b, i), v.row(b, i)
		for ; len(pu) > 0; pu, pv = pu[u.c:], pv[u.c:] {
			addProducts(m.rowFirst, m.rowSecond, pu, pv)
		}
		for c := range m.first {
			m.first[c] += float64(m.rowFirst[c])
			m.second[c] += float64(m.rowSecond[c])
		}
	}
}

// addProducts adds u to s and u·v to t, for the channels of one pixel.
func addProducts(s, t, u, v []float32) {
	t, u, v = t[:len(s)], u[:len(s)], v[:len(s)]
	for c := range s {
		s[c] += u[c]
		t[c] += float32(u[c] * v[c])
	}
}

// normalize computes y = a·z + c over image b.
func normalize(y, z *tensor, b int, a, c []float32) {
	for i := range z.h {
		py, pz := y.row(b, i), z.row(b, i)
		for ; len(pz) > 0; py, pz = py[z.c:], pz[z.c:] {
			for ch := range a {
				py[ch] = float32(a[ch]*pz[ch]) + c[ch]
			}
		}
	}
}

// An affine has the per-channel coefficients of dz = k·dy + p·z + q.
type affine struct{ k, p, q []float32 }

func newAffine(channels int) affine {
	return affine{make([]float32, channels), make([]float32, channels), make([]float32, channels)}
}

// apply computes dz over image b.
func (f affine) apply(dz, dy, z *tensor, b int) {
	for i := range z.h {
		pd, py, pz := dz.row(b, i), dy.row(b, i), z.row(b, i)
		for ; len(pz) > 0; pd, py, pz = pd[z.c:], py[z.c:], pz[z.c:] {
			for c, k := range f.k {
				pd[c] = float32(k*py[c]) + float32(f.p[c]*pz[c]) + f.q[c]
			}
		}
	}
}
