//go:build !(386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm)

package vec

import (
	"encoding/binary"
	"math"
)

func putLE(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

func getLE(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// LE returns x as AppendLE writes it. The bytes share the memory of x where the machine stores floats so; here they
// are a copy.
func LE(x []float32) []byte { return AppendLE(nil, x) }
