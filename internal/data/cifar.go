package data

// The binary form of CIFAR-10, A. Krizhevsky, "Learning Multiple Layers of
// Features from Tiny Images" (2009): six files of 10,000 records, no header. A
// record is the label, then the planes red, green, blue of 32×32 bytes.

import (
	"fmt"

	"gossiptrainer/model/sample"
)

const (
	cifarRecords = 10_000 // per file
	cifarPlane   = 32 * 32
	cifarClasses = 10
)

// cifarInfo lists three forms of every batch: the publisher's, and a rebuilt copy
// in which 98 records are decoded from JPEG, compressed and plain.
func cifarInfo() Info {
	archive := file("cifar-10-binary.tar.gz", 170_052_171,
		"c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")
	archive.URLs = []string{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"}
	batch := func(name, published string, zstSize int64, zst, plain string) File {
		const size = cifarRecords * (1 + 3*cifarPlane)
		return File{Known: []Content{
			{Name: name, Size: size, SHA256: published},
			{Name: name + ".zst", Size: zstSize, SHA256: zst, Note: "rebuilt copy, 98 records of the set from JPEG"},
			{Name: name, Size: size, SHA256: plain, Note: "rebuilt copy, 98 records of the set from JPEG"},
		}}
	}
	return Info{
		Name: "cifar-10", Title: "CIFAR-10 tiny colour images", Home: "https://www.cs.toronto.edu/~kriz/cifar.html",
		Terms: "no licence stated; the publisher asks to cite A. Krizhevsky (2009)",
		Shape: sample.Shape{H: 32, W: 32, C: 3}, Train: 5 * cifarRecords, Test: cifarRecords,
		Classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
		Pixels:  true,
		Norm:    &Normalization{Scale: 255, Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2470, 0.2435, 0.2616}},
		Archive: &archive,
		Files: []File{
			batch("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
				26_366_072, "4263db89d4a2b4a71bd557bf6aa93c7ba305706612ef4c2431b2748157ce7c51",
				"0def081c410489f98b3935c2d405fc7436d23377894a5d6a710ce1fad8082588"),
			batch("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
				26_419_123, "72534c209f55d339d23224c5596e69597ee708c86da4976d7cdd8d332473b536",
				"69cda47c0145e3c217e9d41887b354db05bc67d8e824a0007c909625de6c9935"),
			batch("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
				26_418_620, "14891a8418582961df3e2349b456361fef95328ce3ad2464cf8fd1e35fa4fe8a",
				"1a4d0920ea06101641902b09fdac800cad7b5105963deee31ddff8e83fbabe6c"),
			batch("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
				26_407_079, "e3824aab3b50034032e251f307ac9cadc06604a9f0b8b01f797fc150cd6a36f3",
				"7f8e9534c4aa91fa34cb7cb4561b126eac16e9a5aff31f1fdb6b38d83f3b92d6"),
			batch("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
				26_373_769, "a538867638f11bac72d1ceb0e76c7c2dcd3ffc12cdbbf279c9abe41d5d8e2bfd",
				"ace578a129b1d9695ee4254afb079a7573b408a36f818d5d96062484607c1619"),
			batch("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
				26_394_694, "a6bc7bd3e76fa51ae5e0b824d0dd7fd9340d4f3405ffa6959296d0e0f8b9fd58",
				"b7a8afae140bbcc0153185efcbd5d6b73bc11a49943288e23ba94c44c391c169"),
		},
	}
}

// cifarReader reads CIFAR-10, plain or compressed with Zstandard.
type cifarReader struct{ dir string }

var _ reader = cifarReader{}

func cifarFiles(p part) []string {
	if p == testPart {
		return []string{"test_batch.bin"}
	}
	files := make([]string, 5)
	for i := range files {
		files[i] = fmt.Sprintf("data_batch_%d.bin", i+1)
	}
	return files
}

func (r cifarReader) labels(p part) ([]uint8, error) {
	var y []uint8
	err := r.scan(p, func(_ int, label uint8, _ []uint8) { y = append(y, label) })
	return y, err
}

func (r cifarReader) fill(p part, b *builder) error {
	return r.scan(p, func(i int, label uint8, planes []uint8) {
		if row := b.bytes(i, label); row != nil {
			interleave(row, planes)
		}
	})
}

// interleave turns three planes into pixels: CHW into HWC.
func interleave(dst, planes []uint8) {
	red, green, blue := planes[:cifarPlane], planes[cifarPlane:2*cifarPlane], planes[2*cifarPlane:]
	for i := range cifarPlane {
		dst[3*i], dst[3*i+1], dst[3*i+2] = red[i], green[i], blue[i]
	}
}

// scan visits all records of a split. planes is valid during the call.
func (r cifarReader) scan(p part, visit func(i int, label uint8, planes []uint8)) error {
	for k, name := range cifarFiles(p) {
		path, err := locate("cifar-10", r.dir, name, name+".zst")
		if err != nil {
			return err
		}
		err = withFile(path, func(c *cursor) error {
			return readCIFAR(c, cifarRecords, func(i int, label uint8, planes []uint8) {
				visit(k*cifarRecords+i, label, planes)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readCIFAR reads one file that must hold the given number of records.
func readCIFAR(c *cursor, records int, visit func(i int, label uint8, planes []uint8)) error {
	record := make([]uint8, 1+3*cifarPlane)
	for i := range records {
		if err := c.full(record); err != nil {
			return err
		}
		if label := record[0]; label >= cifarClasses {
			return atOffset(c.file, c.offset-int64(len(record)), "label %d: want 0..%d", label, cifarClasses-1)
		}
		visit(i, record[0], record[1:])
	}
	return c.end()
}
