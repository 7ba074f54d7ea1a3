package data

// The binary form of CIFAR-10, A. Krizhevsky, "Learning Multiple Layers of
// Features from Tiny Images" (2009): six files of 10,000 records, no header. A
// record is the label, then the planes red, green, blue of 32×32 bytes.

import "fmt"

const (
	cifarRecords = 10_000 // per file
	cifarPlane   = 32 * 32
	cifarClasses = 10
	cifarFolder  = "cifar-10-batches-bin" // in the publisher's archive
)

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
