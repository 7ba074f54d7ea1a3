package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"gossiptrainer/internal/kernel/asm"
)

// A Tier is a set of vector instructions. Its methods are the kernels. A tier that the machine does
// not have must not be used.
type Tier uint8

// The tiers, each holding all before it.
const (
	Off    Tier = iota // plain Go
	AVX2               // AVX2 and FMA, 8 lanes of 32 bits
	AVX512             // AVX-512 F, BW, DQ and VL, 16 lanes
)

// Variable is the environment variable that limits a run to one tier.
const Variable = "PEER_SIMD"

const tierNames = "off avx2 avx512"

// String returns the name of t for Variable: off, avx2 or avx512.
func (t Tier) String() string {
	if names := strings.Fields(tierNames); int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// A choice is a tier, or the error for a value of Variable.
type choice struct {
	tier Tier
	err  error
}

// chosen is the choice at the start of the program.
var chosen = choose(os.Getenv(Variable), machine())

// choose returns the tier called name, or the machine's best if name is empty.
// With an error the tier is Off.
func choose(name string, best Tier) choice {
	if name == "" {
		return choice{tier: best}
	}
	tier := Tier(slices.Index(strings.Fields(tierNames), name)) // 255 if name is no tier
	switch {
	case tier > AVX512:
		return choice{err: fmt.Errorf("kernel: %s=%q: want one of %s", Variable, name,
			strings.ReplaceAll(tierNames, " ", ", "))}
	case tier > best:
		return choice{err: fmt.Errorf("kernel: %s=%v: this build on this machine has only %v: unset it", Variable,
			tier, best)}
	}
	return choice{tier: tier}
}

// Best returns the tier that the program should use: the machine's best, or the one that Variable
// named when the program started.
func Best() Tier { return chosen.tier }

// Check returns an error if Variable names no tier of this machine; Best is then Off.
func Check() error { return chosen.err }

// Available returns all tiers that this build has on this machine, Off first, for any value of
// Variable.
func Available() []Tier {
	return []Tier{Off, AVX2, AVX512}[:machine()+1]
}

// MultiplyAdds does at least n multiply-adds of floats as fast as the tier can, and returns how many.
// Benchmarks compare a kernel's speed with it. Off does none.
func (t Tier) MultiplyAdds(n int) int {
	switch t {
	case AVX512:
		loops := n/(16*16) + 1
		asm.PeakAVX512(loops)
		return loops * 16 * 16
	case AVX2:
		loops := n/(12*8) + 1
		asm.PeakAVX2(loops)
		return loops * 12 * 8
	}
	return 0
}
