package entropy

import (
	"slices"

	"gossiptrainer/quant"
)

// An arrangement moves similar bytes of a payload into planes, and back.
type arrangement struct {
	layout quant.Layout
	kind   kind
	digits digits
	wide   quant.Packing
	planes int    // number of planes
	size   int    // bytes of each plane
	memory []byte // the planes, one after the other
	room   []byte // for planes outside the payload
}

// A kind says how the symbols of a bucket become bytes.
type kind int

const (
	asPacked kind = iota // one plane of unchanged bytes: whole symbols, or bytes of unknown meaning
	inDigits             // one plane of several symbols to a byte
	inHalves             // two planes, the low and the high byte of each symbol
	inWords              // a plane of each byte of a word
)

// set prepares a for payloads of layout l, which is checked and not empty.
func (a *arrangement) set(l quant.Layout) error {
	a.layout = l
	switch n := l.Levels; {
	case l.Word == 1:
		a.kind, a.planes, a.size = asPacked, 1, l.Count
	case l.Word > 1:
		a.kind, a.planes, a.size = inWords, l.Word, l.Count
	case n == 1<<16: // packed, they are words
		a.kind, a.planes, a.size = inWords, 2, l.Count
	case n == 2 || n == 4 || n == 16 || n == 256:
		a.kind, a.planes = asPacked, 1
		a.size = l.Len() - l.Tail - l.Head*l.Buckets()
	case n < 256:
		if err := a.digits.set(n); err != nil {
			return err
		}
		a.kind, a.planes, a.size = inDigits, 1, a.digitBytes()
	default:
		var err error
		if a.wide, err = quant.NewPacking(n); err != nil {
			return err
		}
		a.kind, a.planes, a.size = inHalves, 2, l.Count
	}
	return nil
}

// digitBytes returns the bytes of the digits of all buckets.
func (a *arrangement) digitBytes() int {
	total := 0
	for first := 0; first < a.layout.Count; {
		m := a.bucket(first)
		total, first = total+a.digits.len(m), first+m
	}
	return total
}

// bucket returns how many symbols the bucket has that begins with symbol first.
func (a *arrangement) bucket(first int) int {
	rest := a.layout.Count - first
	if a.layout.Bucket == 0 {
		return rest
	}
	return min(a.layout.Bucket, rest)
}

// body returns the bytes that m symbols take in a payload.
func (a *arrangement) body(m int) int {
	l := quant.Layout{Levels: a.layout.Levels, Word: a.layout.Word, Count: m}
	return l.Len()
}

// sides returns the bytes of a payload that belong to no plane.
func (a *arrangement) sides() int { return a.layout.Tail + a.layout.Head*a.layout.Buckets() }

// bind finds the memory of the planes. It is within payload if they lie there in one piece, which joined reports.
func (a *arrangement) bind(payload []byte) (joined bool) {
	if a.kind == asPacked && a.layout.Buckets() <= 1 {
		head := a.layout.Head * a.layout.Buckets()
		a.memory = payload[head : head+a.size]
		return true
	}
	n := a.planes * a.size
	a.room = slices.Grow(a.room[:0], n)[:n]
	a.memory = a.room
	return false
}

// plane returns plane number i.
func (a *arrangement) plane(i int) []byte { return a.memory[i*a.size : (i+1)*a.size] }

// apart appends the sides of payload to dst and fills the planes.
func (a *arrangement) apart(dst, payload []byte) ([]byte, error) {
	joined, at := a.bind(payload), 0
	for first := 0; first < a.layout.Count; {
		m := a.bucket(first)
		dst = append(dst, payload[:a.layout.Head]...)
		end := a.layout.Head + a.body(m)
		if !joined {
			n, err := a.gather(at, first, payload[a.layout.Head:end], m)
			if err != nil {
				return dst, err
			}
			at += n
		}
		payload, first = payload[end:], first+m
	}
	return append(dst, payload...), nil
}

// join fills payload from the sides and the planes. Planes bound within the payload are in place already.
func (a *arrangement) join(payload, sides []byte, joined bool) error {
	at := 0
	for first := 0; first < a.layout.Count; {
		m := a.bucket(first)
		sides = sides[copy(payload[:a.layout.Head], sides):]
		end := a.layout.Head + a.body(m)
		if !joined {
			n, err := a.scatter(payload[a.layout.Head:end], at, first, m)
			if err != nil {
				return err
			}
			at += n
		}
		payload, first = payload[end:], first+m
	}
	copy(payload, sides)
	return nil
}

// gather moves the m symbols of a bucket into the planes, each plane from byte at on, and returns the number of bytes
// per plane.
func (a *arrangement) gather(at, first int, body []byte, m int) (int, error) {
	switch a.kind {
	case asPacked:
		return copy(a.memory[at:], body), nil
	case inDigits:
		n := a.digits.len(m)
		return n, a.digits.gather(a.memory[at:at+n], body, m)
	case inHalves:
		return 0, gatherHalves(a.plane(0)[first:first+m], a.plane(1)[first:first+m], a.wide, body)
	}
	a.gatherWords(first, body)
	return 0, nil
}

// scatter is the inverse of gather.
func (a *arrangement) scatter(body []byte, at, first, m int) (int, error) {
	switch a.kind {
	case asPacked:
		return copy(body, a.memory[at:]), nil
	case inDigits:
		n := a.digits.len(m)
		return n, a.digits.scatter(body, a.memory[at:at+n], m)
	case inHalves:
		return 0, scatterHalves(body, a.wide, a.plane(0)[first:first+m], a.plane(1)[first:first+m])
	}
	a.scatterWords(body, first)
	return 0, nil
}
