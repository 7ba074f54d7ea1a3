package data

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tiff returns EXIF data with an orientation behind another tag.
func tiff(order binary.AppendByteOrder, begin string, o uint16) []byte {
	b := order.AppendUint32([]byte(begin), 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][2]uint16{{0x0100, 9}, {0x0112, o}} {
		b = order.AppendUint16(order.AppendUint16(b, entry[0]), 3)
		b = order.AppendUint16(order.AppendUint16(order.AppendUint32(b, 1), entry[1]), 0)
	}
	return order.AppendUint32(b, 0)
}

// withExif puts EXIF data into a PNG file, behind its header, or into a JPEG file, behind a comment.
func withExif(file, exif []byte) []byte {
	if bytes.HasPrefix(file, []byte("\x89PNG")) {
		chunk := append([]byte("eXIf"), exif...)
		sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
		head := binary.BigEndian.AppendUint32(nil, uint32(len(exif)))
		return slices.Concat(file[:33], head, chunk, sum, file[33:])
	}
	content := slices.Concat([]byte("Exif\x00\x00"), exif)
	head := binary.BigEndian.AppendUint16([]byte("\xff\xfe\x00\x04hi\xff\xff\xe1"), uint16(len(content)+2))
	return slices.Concat(file[:2], head, content, file[2:])
}

// Rows and columns of the picture as the EXIF standard describes each orientation.
func TestPicturesAreTurnedUpright(t *testing.T) {
	stored := picture(t, grey(3, 2, 1, 2, 3, 4, 5, 6))
	for o, want := range map[uint16][]uint8{
		0: {1, 2, 3, 4, 5, 6}, 1: {1, 2, 3, 4, 5, 6}, 2: {3, 2, 1, 6, 5, 4}, 3: {6, 5, 4, 3, 2, 1}, 4: {4, 5, 6, 1, 2, 3},
		5: {1, 4, 2, 5, 3, 6}, 6: {4, 1, 5, 2, 6, 3}, 7: {6, 3, 5, 2, 4, 1}, 8: {3, 6, 2, 5, 1, 4}, 9: {1, 2, 3, 4, 5, 6},
	} {
		for begin, order := range map[string]binary.AppendByteOrder{
			"II*\x00": binary.LittleEndian, "MM\x00*": binary.BigEndian,
		} {
			dir := t.TempDir()
			turned := withExif(stored, tiff(order, begin, o))
			for _, name := range []string{"a/1.png", "a/2.png", "b/1.png"} {
				put(t, dir, name, turned)
			}
			source, notes := opened(t, FileSpec{Path: dir, TestShare: 0.3})
			train, _ := bothParts(t, source)
			swapped := o >= 5 && o <= 8
			if got := train.bytes[:6]; !slices.Equal(got, want) || (source.Info.Shape.H == 3) != swapped ||
				strings.Contains(notes, "3 pictures are turned as the EXIF orientation says") != (o > 1 && o < 9) {
				t.Errorf("orientation %d: %v in %+v, want %v; notes %q", o, got, source.Info.Shape, want, notes)
			}
		}
	}
}

func TestJPEGOrientation(t *testing.T) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, image.NewGray(image.Rect(0, 0, 4, 2)), nil); err != nil {
		t.Fatal(err)
	}
	turned := withExif(file.Bytes(), tiff(binary.BigEndian, "MM\x00*", 6))
	if got := orientationOf(bytes.NewReader(turned), false); got != 6 {
		t.Errorf("orientation %d, want 6", got)
	}
	if _, err := jpeg.Decode(bytes.NewReader(turned)); err != nil {
		t.Error(err)
	}
	if got := orientationOf(bytes.NewReader(file.Bytes()), false); got != upright {
		t.Errorf("orientation %d without EXIF", got)
	}
}

func FuzzOrientation(f *testing.F) {
	exif := tiff(binary.LittleEndian, "II*\x00", 8)
	f.Add(withExif(picture(f, grey(2, 1, 1, 2)), exif))
	f.Add(slices.Concat([]byte("\xff\xd8\xff\xe1\x00\x30Exif\x00\x00"), exif))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, isPNG := range []bool{true, false} {
			o := orientationOf(bytes.NewReader(content), isPNG)
			if o < 1 || o > 8 {
				t.Errorf("orientation %d", o)
			}
		}
	})
}

// Archives and tools leave other files among pictures, and people link folders.
func TestOtherFilesAmongPictures(t *testing.T) {
	dir, good := t.TempDir(), picture(t, grey(2, 1, 1, 2))
	linked := put(t, t.TempDir(), "dogs/1.png", good)
	put(t, filepath.Dir(linked), "2.PNG", good)
	for _, name := range []string{"cat/1.png", "cat/2", "cow/1.png"} {
		put(t, dir, name, good)
	}
	for _, name := range []string{"README.md", "desktop.ini", "cat/desktop.ini", "cow/Thumbs.db", "__MACOSX/cat/._1.png",
		"cat/__MACOSX/1.png", "cat/.DS_Store", ".git/config"} {
		put(t, dir, name, []byte("text"))
	}
	for from, to := range map[string]string{"dog": filepath.Dir(linked), "cow/2.png": linked} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	source, notes := opened(t, FileSpec{Path: dir, TestShare: 0.3})
	if all := source.Info.Train + source.Info.Test; all != 6 || strings.Join(source.Info.Classes, " ") != "cat cow dog" ||
		notes != "4 files are no pictures and are left out: README.md, cow/Thumbs.db, desktop.ini (2)" {
		t.Errorf("%d pictures of %v, notes %q", all, source.Info.Classes, notes)
	}
	sum := func() string {
		files, err := FileSums(FileSpec{Path: dir})
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0].SHA256
	}
	before := sum()
	put(t, filepath.Dir(linked), "1.png", picture(t, grey(2, 1, 1, 3)))
	if before == sum() {
		t.Error("the checksum does not know the content of a linked folder")
	}
	if err := os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "cow/3.png")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "cat/3.webp", []byte("RIFF"))
	if _, err := OpenFiles([]FileSpec{{Path: dir, TestShare: 0.3}}); err == nil ||
		!strings.Contains(err.Error(), "3.png: a link to a file that does not exist") {
		t.Errorf("a broken link: error %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "cow/3.png")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFiles([]FileSpec{{Path: dir, TestShare: 0.3}}); err == nil ||
		!strings.Contains(err.Error(), "3.webp: neither PNG nor JPEG: convert it") {
		t.Errorf("another format: error %v", err)
	}
}
