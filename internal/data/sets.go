package data

import (
	"fmt"
	"strings"
)

// Lookup returns the set of a name other than "libsvm".
func Lookup(name string) (Info, error) {
	sets := Sets()
	for _, s := range sets {
		if s.Name == name {
			return s, nil
		}
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return Info{}, fmt.Errorf("data: set %q: want one of %s", name, strings.Join(names, ", "))
}

// Sets returns all sets with a name. Checksums and sizes are those of publishers and of common data loaders; means and
// deviations are over the train split.
func Sets() []Info {
	return []Info{glyphsInfo(), mnistInfo(), fashionInfo(), cifarInfo(), a9aInfo(), optdigitsInfo()}
}

// Load reads a whole set: one of Sets, or "libsvm". dir is the folder of Root; the files lie in its folder `name` or
// directly in it. It returns *MissingError for a missing file, *FormatError for a bad one.
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

// Open finds a set, see Load. It reads no samples, except of "libsvm", whose files determine dimension and labels.
func Open(name, dir string) (*Source, error) {
	if name == libsvmName {
		spec, err := FolderSpec(dir)
		if err != nil {
			return nil, err
		}
		own, err := OpenFiles([]FileSpec{spec})
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
		s.reader = a9aReader{dir, info}
	case "optdigits":
		s.reader = optdigitsReader{info, dir}
	default:
		s.reader = idxReader{info, dir}
	}
	return s, nil
}
