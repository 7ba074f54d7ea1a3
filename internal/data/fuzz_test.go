package data

import (
	"bytes"
	"testing"

	"gossiptrainer/model/sample"
)

func FuzzIDX(f *testing.F) {
	f.Add(idx("\x02\x00\x01", 2049, 3), idx("abcdefghijklmnopqr", 2051, 3, 3, 2))
	f.Add(idx("", 2049, 0xffffffff), idx("", 2051, 3, 0xffffffff, 0xffffffff))
	f.Fuzz(func(t *testing.T, labels, images []byte) {
		y, err := readIDXLabels(cursorOn(labels), 3, 3)
		if err != nil {
			return
		}
		b, err := newBuilder(tiny(sample.Shape{H: 3, W: 2, C: 1}, 3), 3, []int{2, 0})
		if err != nil {
			t.Fatal(err)
		}
		if err := readIDXImages(cursorOn(images), y, b); err != nil {
			return
		}
		if !bytes.Equal(b.set.bytes, append(bytes.Clone(images[28:34]), images[16:22]...)) {
			t.Errorf("pictures 2 and 0 of %x read as %x", images, b.set.bytes)
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	f.Add(make([]byte, 2*3073))
	f.Add([]byte{10})
	f.Fuzz(func(t *testing.T, content []byte) {
		rows := 0
		err := readCIFAR(cursorOn(content), 2, func(_ int, label uint8, planes []uint8) {
			rows++
			if label >= cifarClasses || len(planes) != 3*cifarPlane {
				t.Errorf("label %d with %d bytes of planes", label, len(planes))
			}
		})
		if accepted := err == nil; accepted != (len(content) == 2*3073 && rows == 2) {
			t.Errorf("%d bytes, %d records: error %v", len(content), rows, err)
		}
	})
}

func FuzzLIBSVM(f *testing.F) {
	f.Add([]byte("+1 1:1 3:0.5 \n-1\n"))
	f.Add([]byte("1e309 1:1\n+1 9999999999999999999:1\n"))
	f.Add([]byte("# zero-based\n1 qid:1 0:1 # x\n\n-1.5\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		next := 0
		rows, err := readLIBSVM(cursorOn(content), func(i int, row libsvmRow) error {
			if i != next || !isNumber(row.label) {
				t.Errorf("row %d, want %d; label %s", i, next, row.label)
			}
			next++
			last := int32(-1)
			for _, x := range row.features {
				if x.index <= last || x.index > libsvmDim || x.value != x.value || x.value-x.value != 0 {
					t.Errorf("row %d: feature %v after index %d", i, x, last)
				}
				last = x.index
			}
			return nil
		})
		if rows != next && err == nil {
			t.Errorf("%d rows counted, %d visited", rows, next)
		}
	})
}

func FuzzDigitsCSV(f *testing.F) {
	f.Add([]byte("0,16,3,4,7\n1,2,3,4,0\n"))
	f.Add([]byte("0,256,3,4,7\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		rows := 0
		err := readDigitsCSV(cursorOn(content), 2, 4, func(_ int, label uint8, pixels []uint8) {
			rows++
			if label > 9 || len(pixels) != 4 || max(pixels[0], pixels[1], pixels[2], pixels[3]) > optdigitsInk {
				t.Errorf("label %d, pixels %v", label, pixels)
			}
		})
		if err == nil && rows != 2 {
			t.Errorf("%d rows accepted, want 2", rows)
		}
	})
}
