package gossiptrainer_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"gossiptrainer"
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// Lazy is D-PSGD that goes half of the way to the mean of the neighbours. It sends parameters as float32, and rounds
// do not wait for a gradient before they send.
type lazy struct {
	x     []float32
	alpha algos.StepSize
}

func (a *lazy) Plan() algos.Plan  { return algos.Plan{Hops: 1, Overlap: true, Lead: 1} }
func (a *lazy) Params() []float32 { return a.x }
func (a *lazy) ExtraMemory() int  { return 0 }

func (a *lazy) Send(k, hop int, dst []byte) ([]byte, error) {
	for _, v := range a.x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

func (a *lazy) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	move := make([]float32, len(a.x))
	for _, m := range in {
		if len(m.Payload) != 4*len(a.x) { // nothing is mixed of a message that is wrong
			return algos.Mixed{}, fmt.Errorf("lazy: %d bytes from worker %d: want %d", len(m.Payload), m.From, 4*len(a.x))
		}
		for i := range a.x {
			theirs := math.Float32frombits(binary.LittleEndian.Uint32(m.Payload[4*i:]))
			move[i] += m.Weight * (theirs - a.x[i]) / 2
		}
	}
	for i := range a.x {
		a.x[i] += move[i]
	}
	return algos.Mixed{}, nil
}

func (a *lazy) Descend(k int, g []float32) error {
	for i := range a.x {
		a.x[i] -= a.alpha(k) * g[i]
	}
	return nil
}

// An algorithm of one's own has six methods.
func ExampleTraining_algorithm() {
	results, err := gossiptrainer.TrainAll(context.Background(), gossiptrainer.Training{
		Workers: 3, Rounds: 400,
		StepSize: func(k int) float32 { return 2 / float32(4+k) },
		Algorithm: func(w gossiptrainer.Worker) (gossip.Algorithm, error) {
			return &lazy{w.X, w.StepSize}, nil
		},
	}, number(1), number(2), number(6))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", results[0].X[0])
	// Output: 3.0
}

// Tenths rounds to tenths between −12.7 and 12.7: a byte for each coordinate.
type tenths struct{}

func (tenths) Len(d int) int                       { return d }
func (tenths) Bits() int                           { return 8 }
func (tenths) Layout(d int) quant.Layout           { return quant.Bytes(d) }
func (tenths) Properties() quant.Properties        { return quant.Properties{} } // promises nothing
func (tenths) Bound(d int, p []byte) float32       { return 12.8 }
func (tenths) value(payload []byte, i int) float32 { return float32(int8(payload[i])) / 10 }

func (tenths) Check(d int, payload []byte) error {
	if len(payload) != d {
		return fmt.Errorf("tenths: %d bytes: want %d", len(payload), d)
	}
	return nil
}

func (tenths) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	for i, v := range z {
		if v-v != 0 {
			return dst, fmt.Errorf("tenths: coordinate %d is %v", i, v)
		}
	}
	for _, v := range z {
		dst = append(dst, byte(int8(math.Round(10*float64(max(-12.7, min(12.7, v)))))))
	}
	return dst, nil
}

func (c tenths) AddTo(acc []float32, w float32, k int, payload []byte) error {
	if err := c.Check(len(acc), payload); err != nil {
		return err
	}
	for i := range acc {
		acc[i] += w * c.value(payload, i)
	}
	return nil
}

// ChocoSGD takes a compressor of one's own. All workers compress alike, so one value serves for all.
func ExampleTraining_compressor() {
	results, err := gossiptrainer.TrainAll(context.Background(), gossiptrainer.Training{
		Workers: 3, Rounds: 400,
		StepSize: func(k int) float32 { return 2 / float32(4+k) },
		Algorithm: func(w gossiptrainer.Worker) (gossip.Algorithm, error) {
			compression := algos.Compression{Own: tenths{}, Of: func(topology.Rank) quant.Compressor { return tenths{} }}
			return &algos.Choco{X: w.X, Alpha: w.StepSize, Gamma: 0.5, Compression: compression}, nil
		},
	}, number(1), number(2), number(6))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f\n", results[0].X[0])
	// Output: 3
}

// A program reads the record of a run, events.jsonl, line by line. docs/format/events.md has all fields.
func Example_record() {
	record := strings.NewReader(`{"status":{"rank":0,"state":"training"}}
{"step":{"rank":0,"round":10,"time_ns":412000000,"loss":1.25,"sent":{"wire":22100}}}
{"step":{"rank":0,"round":20,"time_ns":820000000,"loss":0.75,"sent":{"wire":44200}}}
`)
	for lines := json.NewDecoder(record); lines.More(); {
		var event struct {
			Step *struct {
				Round int
				Time  int64 `json:"time_ns"`
				Loss  float64
				Sent  struct{ Wire int }
			}
		}
		if err := lines.Decode(&event); err != nil {
			fmt.Println(err)
			return
		}
		if s := event.Step; s != nil {
			fmt.Printf("round %d after %.2f s: loss %.2f, %d bytes\n", s.Round, float64(s.Time)/1e9, s.Loss, s.Sent.Wire)
		}
	}
	// Output:
	// round 10 after 0.41 s: loss 1.25, 22100 bytes
	// round 20 after 0.82 s: loss 0.75, 44200 bytes
}
