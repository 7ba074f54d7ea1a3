package entropy

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A plane is coded in blocks, each with its own table, so that parts of a model
// that differ are coded by codes that differ. A block is a flag and
//
//	raw    its bytes as they are
//	rle    the one byte that the whole block repeats
//	coded  the length of the coded bytes, u32, and the coded bytes
//
// The receiver knows the bytes of a block: the rest of the plane, but at most the
// block size of the coder.
const (
	rawBlock   = 0
	rleBlock   = 1
	codedBlock = 2
)

// orderZeroBlock is the block size of Huff0 and FSE.
const orderZeroBlock = 64 << 10

// blockLen returns the most bytes of a plane that are one block.
func blockLen(c Coder) int {
	if c == Huff0 || c == FSE {
		return orderZeroBlock
	}
	return math.MaxInt32
}

// appendBlocks codes plane.
func (m *machines) appendBlocks(dst []byte, c Coder, plane []byte) ([]byte, error) {
	for len(plane) > 0 {
		b := plane[:min(blockLen(c), len(plane))]
		plane = plane[len(b):]
		var err error
		if dst, err = m.appendBlock(dst, c, b); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (m *machines) appendBlock(dst []byte, c Coder, b []byte) ([]byte, error) {
	if same(b) {
		return append(dst, rleBlock, b[0]), nil
	}
	start := len(dst)
	dst = append(dst, codedBlock, 0, 0, 0, 0)
	dst, smaller, err := m.encode(dst, c, b)
	if err != nil || !smaller || len(dst)-start > len(b) {
		return append(append(dst[:start], rawBlock), b...), err
	}
	binary.LittleEndian.PutUint32(dst[start+1:], uint32(len(dst)-start-5))
	return dst, nil
}

// same reports whether all bytes of b are equal.
func same(b []byte) bool {
	for _, v := range b {
		if v != b[0] {
			return false
		}
	}
	return true
}

// readBlocks decodes coded into plane and returns the rest of coded.
func (m *machines) readBlocks(plane []byte, c Coder, coded []byte) ([]byte, error) {
	for len(plane) > 0 {
		b := plane[:min(blockLen(c), len(plane))]
		plane = plane[len(b):]
		var err error
		if coded, err = m.readBlock(b, c, coded); err != nil {
			return nil, err
		}
	}
	return coded, nil
}

func (m *machines) readBlock(b []byte, c Coder, coded []byte) (rest []byte, err error) {
	if len(coded) == 0 {
		return nil, errCutOff()
	}
	flag, coded := coded[0], coded[1:]
	switch flag {
	case rawBlock:
		if len(coded) < len(b) {
			return nil, errCutOff()
		}
		return coded[copy(b, coded):], nil
	case rleBlock:
		if len(coded) == 0 {
			return nil, errCutOff()
		}
		for i := range b {
			b[i] = coded[0]
		}
		return coded[1:], nil
	case codedBlock:
		if len(coded) < 4 {
			return nil, errCutOff()
		}
		size := int64(binary.LittleEndian.Uint32(coded))
		if coded = coded[4:]; int64(len(coded)) < size {
			return nil, errCutOff()
		}
		if err := m.decode(b, c, coded[:size]); err != nil {
			return nil, fmt.Errorf("%w: %v: %w", ErrCoded, c, err)
		}
		return coded[size:], nil
	}
	return nil, fmt.Errorf("%w: flag %d of a block", ErrCoded, flag)
}

func errCutOff() error { return fmt.Errorf("%w: cut off", ErrCoded) }
