package conformance

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gossiptrainer/quant/controller"
)

type controllerFile struct {
	Cases []struct {
		What   string
		Params struct {
			T                             int
			Alpha, Epsilon, Eta, Discount float64
			RewardScale                   float64 `json:"reward_scale"`
			MinBits                       int     `json:"min_bits"`
			MaxBits                       int     `json:"max_bits"`
			StartBits                     int     `json:"start_bits"`
		}
		Net   controller.Net
		Steps []struct {
			Losses []float64
			CostMS float64 `json:"cost_ms"`
			Draw   float64
			Expect struct{ Bits int }
		}
		FinalNet controller.Net `json:"final_net"`
	}
	Adaptive []struct {
		RMS     float64
		RefRMS  float64 `json:"ref_rms"`
		RefBits int     `json:"ref_bits"`
		MinBits int     `json:"min_bits"`
		MaxBits int     `json:"max_bits"`
		Bits    int
	}
}

// The bits of every call depend on all earlier learning. The final net shows the learning of the last calls.
func TestConformanceController(t *testing.T) {
	var file controllerFile
	Load(t, "controller.json", &file)
	if len(file.Cases) == 0 || len(file.Adaptive) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if c.What != "mqgrad" {
				t.Fatalf("unknown controller %q", c.What)
			}
			p := c.Params
			mq, err := controller.NewMQGradFrom(controller.Settings{
				T: p.T, Alpha: p.Alpha, Epsilon: p.Epsilon, Eta: p.Eta, Reward: p.RewardScale, Discount: p.Discount,
				Low: p.MinBits, High: p.MaxBits, Start: p.StartBits,
			}, c.Net, func(call int) float64 { return c.Steps[call].Draw })
			if err != nil {
				t.Fatal(err)
			}
			for call, step := range c.Steps {
				took := time.Duration(math.Round(step.CostMS * float64(time.Millisecond)))
				if got := mq.Choose(step.Losses, 0, took); got != step.Expect.Bits {
					t.Fatalf("call %d: %d bits, want %d", call, got, step.Expect.Bits)
				}
			}
			compareRows(t, "W1", c.Net.W1, c.FinalNet.W1)
			compareRows(t, "b1", [][]float64{c.Net.B1}, [][]float64{c.FinalNet.B1})
			compareRows(t, "W2", c.Net.W2, c.FinalNet.W2)
			compareRows(t, "b2", [][]float64{c.Net.B2}, [][]float64{c.FinalNet.B2})
		})
	}
	for _, a := range file.Adaptive {
		if got := controller.Adapted(a.RMS, a.RefRMS, a.RefBits, a.MinBits, a.MaxBits); got != a.Bits {
			t.Errorf("rms %v of %v: %d bits, want %d", a.RMS, a.RefRMS, got, a.Bits)
		}
	}
}

// compareRows compares weights with those of the file, to relative 1e-9.
func compareRows(t *testing.T, name string, got, want [][]float64) {
	t.Helper()
	for i := range want {
		for j, w := range want[i] {
			if g := got[i][j]; math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
				t.Errorf("%s[%d][%d]: %v, want %v", name, i, j, g, w)
			}
		}
	}
}
