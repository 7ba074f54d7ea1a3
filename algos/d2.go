package algos

// D2 is one worker of D²: Tang et al., "D²: Decentralized Training over
// Decentralized Data", ICML 2018, algorithm 1,
//
//	z_k = 2x_k − x_{k−1} − α_k g_k + α_{k−1} g_{k−1},  x_{k+1,i} = Σ_j W_ij z_{k,j},
//
// which removes the error that D-PSGD keeps when the workers' data differ. With
// r = x_{k−1} − α_{k−1} g_{k−1}, one vector is enough:
//
//	z = 2x − α_k g − r,  r ← x − α_k g;  z = x − α_0 g in round 0.
//
// What is sent is z, by any Codec: with Moniqua's, x_{k+1} = z + Σ_j W_ij (ẑ_j − ẑ_i)
// recovers against z. W needs λₙ > −1/3. A round that one worker skips alone
// breaks the recursion: the rounds are in lock-step.
type D2 struct {
	X     []float32 // the model x_{k,i}, z while a round mixes; updated in place
	Alpha StepSize
	Codec Codec

	r    []float32
	mine []byte // the payload of this round, owned by the machine
}

// Plan lays out one exchange per round. Its message needs the gradient.
func (a *D2) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *D2) Params() []float32 { return a.X }

// Descend turns x into z.
func (a *D2) Descend(k int, g []float32) error {
	alpha := a.Alpha(k)
	if k == 0 {
		a.r = make([]float32, len(a.X))
		for c, x := range a.X {
			half := x - float32(alpha*g[c])
			a.X[c], a.r[c] = half, half
		}
		return nil
	}
	r, g := a.r[:len(a.X)], g[:len(a.X)]
	for c, x := range a.X {
		half := x - float32(alpha*g[c])
		a.X[c], r[c] = half+(x-r[c]), half
	}
	return nil
}

// Send appends z as the codec encodes it.
func (a *D2) Send(k, _ int, dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := a.Codec.Encode(dst, k, a.X)
	a.mine = dst[start:]
	return dst, err
}

// Mix moves z towards the neighbours' in place.
func (a *D2) Mix(k, _ int, in []Message) (Mixed, error) {
	return a.Codec.Mix(a.X, k, a.X, a.mine, in)
}

// ExtraMemory returns the bytes of r.
func (a *D2) ExtraMemory() int { return floatBytes * len(a.r) }
