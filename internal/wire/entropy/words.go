package entropy

import (
	"encoding/binary"
	"fmt"

	"gossiptrainer/quant"
)

// Each byte of a word has its own plane. Only some of them compress: the sign and exponent
// of floats, and the high bits of symbols with more than 8 bits.

// gatherWords moves the words of body to the planes, from word first on.
func (a *arrangement) gatherWords(first int, body []byte) {
	m := len(body) / a.planes
	if a.planes == 4 {
		p0, p1, p2, p3 := a.plane(0)[first:][:m], a.plane(1)[first:][:m], a.plane(2)[first:][:m], a.plane(3)[first:][:m]
		for i := range p0 {
			v := binary.LittleEndian.Uint32(body[4*i:])
			p0[i], p1[i], p2[i], p3[i] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
		}
		return
	}
	for p := range a.planes {
		for i, plane := 0, a.plane(p)[first:][:m]; i < m; i++ {
			plane[i] = body[i*a.planes+p]
		}
	}
}

// scatterWords is the inverse of gatherWords.
func (a *arrangement) scatterWords(body []byte, first int) {
	m := len(body) / a.planes
	if a.planes == 4 {
		p0, p1, p2, p3 := a.plane(0)[first:][:m], a.plane(1)[first:][:m], a.plane(2)[first:][:m], a.plane(3)[first:][:m]
		for i := range p0 {
			v := uint32(p0[i]) | uint32(p1[i])<<8 | uint32(p2[i])<<16 | uint32(p3[i])<<24
			binary.LittleEndian.PutUint32(body[4*i:], v)
		}
		return
	}
	for p := range a.planes {
		for i, plane := 0, a.plane(p)[first:][:m]; i < m; i++ {
			body[i*a.planes+p] = plane[i]
		}
	}
}

// block returns the number of symbols of a wide packing that are converted at a time.
func block(packing quant.Packing) int { return chunk / packing.Group() * packing.Group() }

// gatherHalves splits the symbols packed in body.
func gatherHalves(low, high []byte, packing quant.Packing, body []byte) error {
	var symbols [chunk]uint16
	for at, step := 0, block(packing); at < len(low); at += step {
		s := symbols[:min(step, len(low)-at)]
		if err := packing.Unpack(s, body[packing.Len(at):packing.Len(at+len(s))]); err != nil {
			return err
		}
		for i, v := range s {
			low[at+i], high[at+i] = byte(v), byte(v>>8)
		}
	}
	return nil
}

// scatterHalves is the inverse of gatherHalves.
func scatterHalves(body []byte, packing quant.Packing, low, high []byte) error {
	var symbols [chunk]uint16
	for at, step := 0, block(packing); at < len(low); at += step {
		s := symbols[:min(step, len(low)-at)]
		for i := range s {
			s[i] = uint16(low[at+i]) | uint16(high[at+i])<<8
		}
		from, to := packing.Len(at), packing.Len(at+len(s))
		if _, err := packing.Pack(body[from:from:to], s); err != nil {
			return fmt.Errorf("%w: %w", ErrCoded, err)
		}
	}
	return nil
}
