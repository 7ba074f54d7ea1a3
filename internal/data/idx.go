package data

// The IDX format of MNIST, Y. LeCun, C. Cortes, C. Burges, "The MNIST database
// of handwritten digits" (1998): a big-endian header, then bytes.
//
//	images: uint32 2051, images, rows, columns; then the pixels, row after row
//	labels: uint32 2049, labels;                then the labels

import "encoding/binary"

const (
	idxImages = 2051 // 0x00000803: uint8, 3 dimensions
	idxLabels = 2049 // 0x00000801: uint8, 1 dimension
)

// idxReader reads MNIST and Fashion-MNIST.
type idxReader struct {
	info Info
	dir  string
}

var _ reader = idxReader{}

func (r idxReader) count(p part) int { return [...]int{r.info.Train, r.info.Test}[p] }

func (r idxReader) path(p part, kind string) (string, error) {
	return locate(r.info.Name, r.dir, [...]string{"train-", "t10k-"}[p]+kind+"-ubyte.gz")
}

func (r idxReader) labels(p part) (y []uint8, err error) {
	path, err := r.path(p, "labels-idx1")
	if err != nil {
		return nil, err
	}
	err = withFile(path, func(c *cursor) error {
		y, err = readIDXLabels(c, r.count(p), len(r.info.Classes))
		return err
	})
	return y, err
}

func (r idxReader) fill(p part, b *builder) error {
	y, err := r.labels(p)
	if err != nil {
		return err
	}
	path, err := r.path(p, "images-idx3")
	if err != nil {
		return err
	}
	return withFile(path, func(c *cursor) error { return readIDXImages(c, y, b) })
}

// readIDXLabels reads a labels file that must hold n labels 0..classes−1.
func readIDXLabels(c *cursor, n, classes int) ([]uint8, error) {
	if err := readIDXHeader(c, idxLabels, n); err != nil {
		return nil, err
	}
	start := c.offset
	y := make([]uint8, n)
	if err := c.full(y); err != nil {
		return nil, err
	}
	for i, label := range y {
		if int(label) >= classes {
			return nil, atOffset(c.file, start+int64(i), "label %d: want 0..%d", label, classes-1)
		}
	}
	return y, c.end()
}

// readIDXImages reads an images file of len(y) images of the shape of b.
func readIDXImages(c *cursor, y []uint8, b *builder) error {
	shape := b.set.Shape
	if err := readIDXHeader(c, idxImages, len(y), shape.H, shape.W); err != nil {
		return err
	}
	skipped := make([]uint8, shape.Features())
	for i, label := range y {
		row := b.bytes(i, label)
		if row == nil {
			row = skipped
		}
		if err := c.full(row); err != nil {
			return err
		}
	}
	return c.end()
}

// readIDXHeader reads a header that must have the given magic and sizes.
func readIDXHeader(c *cursor, magic uint32, sizes ...int) error {
	names := [...]string{"samples", "rows", "columns"}
	var word [4]byte
	if err := c.full(word[:]); err != nil {
		return err
	}
	if got := binary.BigEndian.Uint32(word[:]); got != magic {
		return atOffset(c.file, 0, "magic number %d, want %d", got, magic)
	}
	for k, want := range sizes {
		if err := c.full(word[:]); err != nil {
			return err
		}
		if got := binary.BigEndian.Uint32(word[:]); uint64(got) != uint64(want) {
			return atOffset(c.file, c.offset-4, "%d %s, want %d", got, names[k], want)
		}
	}
	return nil
}
