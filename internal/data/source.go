package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root returns the folder that holds the data sets: dir if it is given, else the
// environment variable PEER_DATA, else gossiptrainer/data in the user's cache.
func Root(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	if dir = os.Getenv("PEER_DATA"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("data: no folder for data sets: set PEER_DATA or data.dir: %w", err)
	}
	return filepath.Join(cache, "gossiptrainer", "data"), nil
}

// A Source is an opened data set of which nothing but the labels need be in
// memory: a worker asks for the labels, cuts them into shards, and then reads its
// own rows only.
type Source struct {
	Info   Info
	dir    string
	reader reader
}

// part names one of the two splits that every set has.
type part int

const (
	trainPart part = iota
	testPart
)

// A reader reads the files of one set.
type reader interface {
	// labels returns the label of every row.
	labels(part) ([]uint8, error)
	// fill gives every wanted row to b.
	fill(part, *builder) error
}

// Load reads a whole set: the sets of Sets, or "libsvm". dir is the folder of
// Root; the files lie in its folder `name` or directly in it. It returns
// *MissingError for a missing file, *FormatError for a bad one.
func Load(name, dir string) (train, test Set, err error) {
	s, err := Open(name, dir)
	if err != nil {
		return Set{}, Set{}, err
	}
	if train, err = s.Train(nil); err != nil {
		return Set{}, Set{}, err
	}
	test, err = s.Test()
	return train, test, err
}

// Open finds a set, see Load. It reads no samples, except of "libsvm", whose
// dimension and labels are what its files hold.
func Open(name, dir string) (*Source, error) {
	if name == libsvmName {
		own, err := OpenOwn([]string{dir}, Form{})
		if err != nil {
			return nil, err
		}
		return own[0], nil
	}
	info, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	s := &Source{Info: info, dir: dir}
	switch name {
	case "glyphs":
		s.reader = glyphsReader{info}
	case "cifar-10":
		s.reader = cifarReader{dir}
	case "a9a":
		s.reader = &libsvmReader{name: name, dir: dir, info: info, files: [2]string{"a9a", "a9a.t"}, values: []float64{-1, 1}}
	case "optdigits":
		s.reader = optdigitsReader{info, dir}
	default:
		s.reader = idxReader{info, dir}
	}
	return s, nil
}

// TrainLabels returns the labels of the train split.
func (s *Source) TrainLabels() (Labels, error) {
	y, err := s.reader.labels(trainPart)
	return Labels{Of: y, Classes: s.Info.Classes}, err
}

// Train reads the given rows of the train split, in that order; nil means all.
// A row may occur once.
func (s *Source) Train(rows []int) (Set, error) { return s.read(trainPart, s.Info.Train, rows) }

// Test reads the test split.
func (s *Source) Test() (Set, error) { return s.read(testPart, s.Info.Test, nil) }

func (s *Source) read(p part, n int, rows []int) (Set, error) {
	b, err := newBuilder(s.Info, n, rows)
	if err != nil {
		return Set{}, err
	}
	if err := s.reader.fill(p, b); err != nil {
		return Set{}, err
	}
	return b.set, nil
}

// A builder puts rows of a file into a set, the wanted ones.
type builder struct {
	set Set
	at  []int // by row of the file: position in the set, or −1
}

func newBuilder(info Info, n int, rows []int) (*builder, error) {
	kind := Set{Shape: info.Shape, Classes: info.Classes}
	if info.Norm != nil {
		kind.table = info.Norm.table()
	}
	b := &builder{at: make([]int, n)}
	if rows == nil {
		for i := range b.at {
			b.at[i] = i
		}
		b.set = kind.empty(n)
		return b, nil
	}
	for i := range b.at {
		b.at[i] = -1
	}
	for k, i := range rows {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("data: %s: row %d: there are %d", info.Name, i, n)
		}
		if b.at[i] >= 0 {
			return nil, fmt.Errorf("data: %s: row %d: asked for twice", info.Name, i)
		}
		b.at[i] = k
	}
	b.set = kind.empty(len(rows))
	return b, nil
}

// bytes returns the place for row i of the file, nil if it is not wanted, and
// notes its label.
func (b *builder) bytes(i int, label uint8) []uint8 {
	k := b.at[i]
	if k < 0 {
		return nil
	}
	f := b.set.Shape.Features()
	b.set.labels[k] = label
	return b.set.bytes[k*f : (k+1)*f]
}

// floats is bytes for a set of floats.
func (b *builder) floats(i int, label uint8) []float32 {
	k := b.at[i]
	if k < 0 {
		return nil
	}
	f := b.set.Shape.Features()
	b.set.labels[k] = label
	return b.set.floats[k*f : (k+1)*f]
}

// Find returns *MissingError if a file of the set is not there. It reads none.
func (s *Source) Find() error {
	for _, f := range s.Info.Files {
		if _, err := locate(s.Info.Name, s.dir, f.names()...); err != nil {
			return err
		}
	}
	return nil
}

// locate returns the path of the first of the given files that exists in dir's
// folder for the set, or in dir itself.
func locate(set, dir string, names ...string) (string, error) {
	folders := []string{filepath.Join(dir, set), dir}
	if set == "cifar-10" { // the folder in the publisher's archive
		folders = append(folders, filepath.Join(dir, set, cifarFolder), filepath.Join(dir, cifarFolder))
	}
	for _, folder := range folders {
		for _, name := range names {
			path := filepath.Join(folder, name)
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				return path, nil
			}
			if err != nil && !os.IsNotExist(err) && !isNotDir(err) {
				return "", fmt.Errorf("data: %s: %w", set, err)
			}
		}
	}
	return "", &MissingError{Set: set, File: strings.Join(names, " or "), Dir: dir}
}
