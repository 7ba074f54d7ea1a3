package data

// The IDX format of MNIST, Y. LeCun, C. Cortes, C. Burges, "The MNIST database
// of handwritten digits" (1998): a big-endian header, then bytes.
//
//	images: uint32 2051, images, rows, columns; then the pixels, row after row
//	labels: uint32 2049, labels;                then the labels

import (
	"encoding/binary"

	"gossiptrainer/model/sample"
)

const (
	idxImages = 2051 // 0x00000803: uint8, 3 dimensions
	idxLabels = 2049 // 0x00000801: uint8, 1 dimension
)

func mnistInfo() Info {
	i := Info{
		Name: "mnist", Title: "MNIST handwritten digits", Home: "http://yann.lecun.com/exdb/mnist/",
		Terms: "CC BY-SA 3.0, Y. LeCun and C. Cortes",
		Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: digits(), Train: 60_000, Test: 10_000,
		Pixels: true, Norm: greyImages(0.1307, 0.3081),
		Files: []File{
			file("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
			file("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
			file("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
			file("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
		},
	}
	return i.from("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
}

func fashionInfo() Info {
	i := Info{
		Name: "fashion-mnist", Title: "Fashion-MNIST articles of clothing",
		Home:  "https://github.com/zalandoresearch/fashion-mnist",
		Terms: "MIT, Zalando SE",
		Shape: sample.Shape{H: 28, W: 28, C: 1}, Train: 60_000, Test: 10_000,
		Classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
			"ankle boot"},
		Pixels: true, Norm: greyImages(0.2860, 0.3530),
		Files: []File{
			file("train-images-idx3-ubyte.gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
			file("train-labels-idx1-ubyte.gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
			file("t10k-images-idx3-ubyte.gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
			file("t10k-labels-idx1-ubyte.gz", 5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
		},
	}
	return i.from("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/")
}

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
