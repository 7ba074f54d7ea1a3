package kernel

import "gossiptrainer/internal/kernel/asm"

// MultiplyAdds does at least n multiply-adds of floats as fast as the tier can,
// for measuring by how much a kernel misses that, and returns how many. Off
// does none.
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
