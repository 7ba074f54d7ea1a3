package data

// NumPy's format, R. Kern, "NEP 1: A simple file format for NumPy arrays" (2007): the magic
// string, two bytes of version, the length of the header, a Python dictionary, the elements. An
// archive .npz is a zip file of such files.

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	npyMagic  = "\x93NUMPY"
	npyHeader = 64 << 10 // bytes of the longest dictionary
)

// openNPY reads the header of a .npy file.
func openNPY(path string) (*array, error) {
	return npyArray(path, func(read func(*cursor) error) error { return withFile(path, read) })
}

// npyArray reads the header of what open passes.
func npyArray(name string, open func(func(*cursor) error) error) (*array, error) {
	var a *array
	err := open(func(c *cursor) (err error) {
		a, err = readNPYHeader(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.name = name
	a.open = func(read func(*cursor) error) error {
		return open(func(c *cursor) error {
			if _, err := readNPYHeader(c); err != nil {
				return err
			}
			return read(c)
		})
	}
	return a, a.check()
}

// readNPYHeader reads to the first element.
func readNPYHeader(c *cursor) (*array, error) {
	var head [8]byte
	if err := c.full(head[:]); err != nil {
		return nil, err
	}
	if string(head[:6]) != npyMagic {
		return nil, atOffset(c.file, 0, "no NumPy file: it begins with %.8q", head[:])
	}
	length := make([]byte, 2)
	if head[6] >= 2 {
		length = make([]byte, 4)
	}
	if head[6] < 1 || head[6] > 3 {
		return nil, atOffset(c.file, 6, "version %d of the NumPy format: want 1 to 3", head[6])
	}
	if err := c.full(length); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(append(length, 0, 0)[:4])
	if n > npyHeader {
		return nil, atOffset(c.file, 8, "a header of %d bytes: want at most %d", n, npyHeader)
	}
	text := make([]byte, n)
	if err := c.full(text); err != nil {
		return nil, err
	}
	a, err := parseNPY(string(text))
	if err != nil {
		return nil, atOffset(c.file, int64(8+len(length)), "%w", err)
	}
	return a, nil
}

// parseNPY parses a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (150, 4), }.
func parseNPY(text string) (*array, error) {
	a := &array{format: "NumPy"}
	descr, ok := entry(text, "descr")
	if !ok {
		return nil, errors.New("the header has no 'descr'")
	}
	if strings.HasPrefix(descr, "[") {
		return nil, errors.New("a structured array: save its fields as one array of numbers")
	}
	descr, _, ok = strings.Cut(strings.TrimPrefix(descr, "'"), "'")
	if !ok {
		return nil, errors.New("'descr' is not in quotes")
	}
	var err error
	if a.element, err = parseElement(descr); err != nil {
		return nil, err
	}
	order, ok := entry(text, "fortran_order")
	a.fortran = strings.HasPrefix(order, "True")
	if !ok || !a.fortran && !strings.HasPrefix(order, "False") {
		return nil, errors.New("'fortran_order' is neither True nor False")
	}
	shape, ok := entry(text, "shape")
	inner, _, closed := strings.Cut(strings.TrimPrefix(shape, "("), ")")
	if !ok || !closed || !strings.HasPrefix(shape, "(") {
		return nil, errors.New("the header has no 'shape' in parentheses")
	}
	for field := range strings.SplitSeq(inner, ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		d, err := strconv.Atoi(field)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("'shape' has %.30q: want numbers", field)
		}
		a.dims = append(a.dims, d)
	}
	return a, nil
}

// entry returns the text of a dictionary after a key.
func entry(text, key string) (string, bool) {
	_, rest, ok := strings.Cut(text, "'"+key+"':")
	return strings.TrimSpace(rest), ok
}

// parseElement parses a type such as <f4 or |u1.
func parseElement(descr string) (elementType, error) {
	bare := strings.TrimLeft(descr, "<>|=")
	if bare == "" {
		return elementType{}, fmt.Errorf("type %q is not known", descr)
	}
	e := elementType{kind: bare[0], big: strings.HasPrefix(descr, ">")}
	size, err := strconv.Atoi(bare[1:])
	e.size = size
	if e.kind == 'O' {
		return e, errors.New("pickled Python objects: they could run code when read; save an array of numbers, " +
			"as X.astype('float32')")
	}
	known := false
	switch e.kind {
	case 'b':
		known = size == 1
	case 'u', 'i':
		known = size == 1 || size == 2 || size == 4 || size == 8
	case 'f':
		known = size == 2 || size == 4 || size == 8
	case 'S':
		known = size >= 1 && size <= 1<<10
	case 'U':
		known = size >= 1 && size <= 1<<10
		e.size = 4 * size
	}
	if err != nil || !known {
		return e, fmt.Errorf("type %q: want bool, int8 to int64, uint8 to uint64, float16 to float64, or text for labels",
			descr)
	}
	return e, nil
}

// openNPZ opens the arrays of an archive for a part, and the names that it found.
func openNPZ(path string, c Columns, p part) (rows, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, atOffset(path, 0, "%w", err)
	}
	names, err := arraysOf(&archive.Reader), checkArchive(path, &archive.Reader)
	if err := errors.Join(err, archive.Close()); err != nil {
		return nil, err
	}
	if len(c.Features) > 1 || len(c.Skip) > 0 {
		return nil, atOffset(path, 0, "data.features names one array of an .npz, and data.skip none")
	}
	want := ""
	if len(c.Features) == 1 {
		want = c.Features[0]
	}
	xName, err := pickArray(names, want, "data.features", samplesNames(p))
	if err != nil {
		return nil, atOffset(path, 0, "%w", err)
	}
	x, err := openMember(path, xName)
	if err != nil {
		return nil, err
	}
	if c.NoLabel {
		return pairArrays(x, nil, Columns{NoLabel: true})
	}
	yName, err := pickArray(names, c.Label, "data.label", labelsNames(p))
	if err != nil {
		return nil, atOffset(path, 0, "%w", err)
	}
	y, err := openMember(path, yName)
	if err != nil {
		return nil, err
	}
	x.format = "NumPy archive, " + xName + ":"
	return pairArrays(x, y, Columns{Missing: c.Missing})
}

// samplesNames and labelsNames are the names that arrays usually have, the names of the part first.
func samplesNames(p part) []string {
	if p == testPart {
		return []string{"x_test", "test_images", "test_x", "x", "data", "images", "features"}
	}
	return []string{"x_train", "train_images", "train_x", "x", "data", "images", "features"}
}

func labelsNames(p part) []string {
	if p == testPart {
		return []string{"y_test", "test_labels", "test_y", "y", "labels", "label", "targets", "target"}
	}
	return []string{"y_train", "train_labels", "train_y", "y", "labels", "label", "targets", "target"}
}

// holdsTest reports whether an archive has arrays for the test split.
func holdsTest(path string, c Columns) bool {
	archive, err := zip.OpenReader(path)
	if err != nil || len(c.Features) > 0 || c.Label != "" {
		return false
	}
	defer archive.Close()
	names := arraysOf(&archive.Reader)
	_, errX := pickArray(names, "", "", samplesNames(testPart)[:3])
	_, errY := pickArray(names, "", "", labelsNames(testPart)[:3])
	return errX == nil && errY == nil
}

// arraysOf returns the names of the arrays of an archive.
func arraysOf(archive *zip.Reader) []string {
	var names []string
	for _, f := range archive.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			names = append(names, name)
		}
	}
	return names
}

// pickArray returns the named array, or the first of the usual names, whatever their case.
func pickArray(names []string, want, key string, usual []string) (string, error) {
	if want != "" {
		usual = []string{want}
	}
	for _, u := range usual {
		for _, name := range names {
			if name == u || want == "" && strings.EqualFold(name, u) {
				return name, nil
			}
		}
	}
	if want != "" {
		return "", fmt.Errorf("%s: there is no array %q among %s", key, want, several(names))
	}
	return "", fmt.Errorf("name the array with %s: the archive has %s", key, several(names))
}

// openMember reads the header of an array of an archive.
func openMember(path, name string) (*array, error) {
	title := filepath.Join(path, name)
	return npyArray(title, func(read func(*cursor) error) error {
		archive, err := zip.OpenReader(path)
		if err != nil {
			return atOffset(path, 0, "%w", err)
		}
		defer archive.Close()
		f, err := archive.Open(name + ".npy")
		if err != nil {
			return atOffset(path, 0, "%w", err)
		}
		defer f.Close()
		return read(&cursor{r: noted{f}, file: title})
	})
}

// noted is a file of an archive that reads as a stream.
type noted struct{ fs.File }

var _ io.Reader = noted{}

// openIDX reads the header of an IDX file of any type.
func openIDX(path string) (*array, error) {
	a := &array{name: path, format: "IDX"}
	err := withFile(path, a.readIDX)
	if err != nil {
		return nil, err
	}
	a.open = func(read func(*cursor) error) error {
		return withFile(path, func(c *cursor) error {
			if err := (&array{}).readIDX(c); err != nil {
				return err
			}
			return read(c)
		})
	}
	return a, a.check()
}

// readIDX reads to the first element.
func (a *array) readIDX(c *cursor) error {
	var word [4]byte
	if err := c.full(word[:]); err != nil {
		return err
	}
	known := map[byte]elementType{8: {'u', 1, true}, 9: {'i', 1, true}, 11: {'i', 2, true}, 12: {'i', 4, true},
		13: {'f', 4, true}, 14: {'f', 8, true}}
	var ok bool
	if a.element, ok = known[word[2]]; !ok || word[0] != 0 || word[1] != 0 || word[3] == 0 {
		return atOffset(c.file, 0, "bytes % x begin no IDX file", word)
	}
	a.dims = nil
	for range word[3] {
		var size [4]byte
		if err := c.full(size[:]); err != nil {
			return err
		}
		a.dims = append(a.dims, int(binary.BigEndian.Uint32(size[:])))
	}
	return nil
}
