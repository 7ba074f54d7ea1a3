package bridge

import (
	"fmt"
	"io"
	"net"
	"runtime"

	"gossiptrainer/internal/vec"
)

// minRegion is the least size of a shared region in bytes: one page.
const minRegion = 4096

// A region holds the vector that the two sides hand to each other, in the byte order of the machine. With memory
// Frames only the peer sees it.
type region struct {
	data  []float32
	room  []float32 // all of the shared memory, which begins with data; nil without
	chunk []byte    // a part of a vector on its way through the socket; nil with shared memory
}

// chunkLen is the length of a part in elements.
const chunkLen = 16 << 10

// private returns a region that the script does not see.
func private(elements int) *region {
	return &region{data: make([]float32, elements), chunk: make([]byte, 4*min(elements, chunkLen))}
}

// reshape makes the region hold another number of elements.
func (r *region) reshape(elements int) error {
	switch {
	case r.chunk != nil:
		*r = *private(elements)
	case elements > len(r.room):
		return fmt.Errorf("the shared memory has room for %d elements, and the vector has %d from now on", len(r.room),
			elements)
	default:
		r.data = r.room[:elements]
	}
	return nil
}

// writeTo sends the vector as little-endian binary32.
func (r *region) writeTo(w io.Writer) error {
	for rest := r.data; len(rest) > 0; {
		n := min(len(rest), chunkLen)
		if _, err := w.Write(vec.AppendLE(r.chunk[:0], rest[:n])); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// readFrom receives a vector that the other side sent.
func (r *region) readFrom(from io.Reader) error {
	for rest := r.data; len(rest) > 0; {
		n := min(len(rest), chunkLen)
		if _, err := io.ReadFull(from, r.chunk[:4*n]); err != nil {
			return err
		}
		vec.ReadLE(rest[:n], r.chunk)
		rest = rest[n:]
	}
	return nil
}

// step computes g ← x − y with the vector y of the region.
func (r *region) step(g, x []float32) {
	vec.Sub(g, x, r.data)
	runtime.KeepAlive(r) // the memory is unmapped with it
}

// readRest fills b.
func readRest(socket *net.UnixConn, b []byte) error {
	_, err := io.ReadFull(socket, b)
	return err
}
