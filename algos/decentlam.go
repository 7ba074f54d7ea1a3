package algos

import "gossiptrainer/gossip/state"

// DecentLaM is one worker of Yuan et al., "DecentLaM: Decentralized Momentum SGD for Large-Batch Deep Training", ICCV
// 2021, algorithm 2. Its momentum is that of one gradient step of the whole network, mixing included. So momentum does
// not amplify the error that different data leave:
//
//	y = x_k − α_k g,  m ← β m + (x_k − Σ_j W_ij y_j)/α_k,  x_{k+1} = x_k − α_k m
//
// from m = 0. With the movement s = Σ_j W_ij (ŷ_j − ŷ_i) the middle equation is m ← β m + g − s/α_k, without a
// difference of two models. For a constant step x_{k+1} = W(x_k − α g_k) + β (x_k − x_{k−1}). The momentum belongs to
// one W, so the graph must not change. Workers send y, by any Codec.
type DecentLaM struct {
	X     []float32 // the model x_{k,i}, y while a round mixes; updated in place
	Alpha StepSize
	Codec Codec
	Beta  float32 // β in [0, 1)

	momentum []float32 // m; while a round mixes −α_k (β m + g), to which the mixing adds s
	g        []float32 // the gradient of the round
	alpha    float32   // α_k while a round mixes
	move     move
}

// Plan describes one exchange per round. Its message needs the gradient.
func (a *DecentLaM) Plan() Plan { return Plan{Hops: 1, Lead: 1} }

// Params returns x_{k,i}.
func (a *DecentLaM) Params() []float32 { return a.X }

// Descend turns x into y.
func (a *DecentLaM) Descend(k int, g []float32) error {
	if a.alpha = a.Alpha(k); !(a.alpha > 0) {
		return noStep("decentlam", k, a.alpha)
	}
	if a.momentum == nil {
		a.momentum = make([]float32, len(a.X))
	}
	m, x := a.momentum[:len(g)], a.X[:len(g)]
	for c, v := range g {
		x[c] -= float32(a.alpha * v)
		m[c] = -float32(a.alpha * (float32(a.Beta*m[c]) + v))
	}
	a.g = g
	a.move.begin(m)
	return nil
}

// Carries returns the codec of its one lane.
func (a *DecentLaM) Carries() []Codec { return []Codec{a.Codec} }

// Send appends y as the codec encodes it.
func (a *DecentLaM) Send(k, _ int, dst []byte) ([]byte, error) {
	return a.move.send(a.Codec, k, a.X, dst)
}

// Mix takes the step along the momentum of the network.
func (a *DecentLaM) Mix(k, _ int, in []Message) (Mixed, error) {
	saw, err := a.move.mix(a.Codec, k, a.X, in)
	if err == nil {
		a.finish()
	}
	return saw, err
}

// Pieces returns the number of pieces of a message.
func (a *DecentLaM) Pieces() int { return a.move.pieces.by(a.Codec, len(a.X)) }

// SendPiece appends a piece of y.
func (a *DecentLaM) SendPiece(k, piece int, dst []byte) ([]byte, error) {
	return a.move.pieces.send(k, piece, a.X, dst)
}

// CheckPiece verifies a piece of the messages.
func (a *DecentLaM) CheckPiece(k, piece int, in []Message) error {
	return a.move.pieces.codec.CheckPiece(k, piece, a.X, in)
}

// MixPiece mixes a piece of y. The model moves after the last one.
func (a *DecentLaM) MixPiece(k, piece int, in []Message) (Mixed, error) {
	saw, last, err := a.move.mixPiece(k, piece, a.X, in)
	if last {
		a.finish()
	}
	return saw, err
}

// finish turns y into the next model: x_k − α m = y + (α g − α m).
func (a *DecentLaM) finish() {
	m, g, x, scale := a.momentum[:len(a.X)], a.g[:len(a.X)], a.X, -1/a.alpha
	for c, step := range m { // −α m
		x[c] += float32(a.alpha*g[c]) + step
		m[c] = float32(scale * step)
	}
}

// ExtraMemory returns the bytes of m.
func (a *DecentLaM) ExtraMemory() int { return floatBytes * len(a.momentum) }

// State shows m.
func (a *DecentLaM) State(v *state.Visit) { v.Vector("m", &a.momentum, len(a.X)) }

// Restart forgets nothing: the mean of the models moves by that of m. The part of m that belongs to another W decays as
// β^t.
func (a *DecentLaM) Restart(Origin) {}
