//go:build 386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm

package vec

import "unsafe"

// The machine stores floats as they are sent: bytes are copied.

func putLE(dst []byte, x []float32)   { copy(dst, memory(x)) }
func getLE(dst []float32, src []byte) { copy(memory(dst), src) }

// memory returns the bytes of x where they are.
func memory(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// LE returns x as AppendLE writes it. The bytes share the memory of x where the machine stores floats so, as here.
func LE(x []float32) []byte { return memory(x) }
