package data

import (
	"slices"
	"strings"

	"gossiptrainer/model/sample"
)

// Info describes a data set.
type Info struct {
	Name    string         `json:"name"`
	Title   string         `json:"title"`
	Home    string         `json:"home"`  // page of the publisher
	Terms   string         `json:"terms"` // of use
	Shape   sample.Shape   `json:"shape"`
	Classes []string       `json:"classes"`
	Train   int            `json:"train"` // samples
	Test    int            `json:"test"`
	Pixels  bool           `json:"-"`                 // values are bytes in files and memory, else numbers
	Sparse  int            `json:"-"`                 // values other than 0 in a sample, on average; 0: kept dense
	Table   Table          `json:"-"`                 // of the user's own files
	Norm    *Normalization `json:"normalization"`     // nil: numbers that are used as they are
	Files   []File         `json:"files"`             // empty: built in
	Archive *File          `json:"archive,omitempty"` // the publisher's archive of Files
}

// A Table has the names by which a model knows the values of a sample.
type Table struct {
	Columns []string // in order; nil: they have none
	Label   string   // of the label column, "" if it has none
	First   *int     // index of the first value in LIBSVM text, 0 or 1; nil for other formats
}

// zeros returns the values 0 of a sample as models see them, nil if they are 0.
func (i Info) zeros() []float32 {
	if i.Norm == nil {
		return nil
	}
	row := make([]float32, i.Shape.Features())
	for c := range row {
		row[c] = i.Norm.number(c, 0, 0)
	}
	return row
}

// A File is one file of a set.
type File struct {
	URLs  []string  `json:"urls,omitempty"` // publisher and mirrors, in the order to try
	Known []Content `json:"known"`          // accepted forms; the first is the publisher's
}

// Name returns the publisher's name of the file.
func (f File) Name() string { return f.Known[0].Name }

// names returns the names under which a file may be there. Several forms may share a name.
func (f File) names() []string {
	var names []string
	for _, known := range f.Known {
		if !slices.Contains(names, known.Name) {
			names = append(names, known.Name)
		}
	}
	return names
}

// Content is one form of a file.
type Content struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hex
	Note   string `json:"note,omitempty"`
}

func greyImages(mean, std float64) *Normalization {
	return &Normalization{Scale: 255, Mean: []float64{mean}, Std: []float64{std}}
}

func digits() []string { return strings.Split("0123456789", "") }

func file(name string, size int64, sha256 string) File {
	return File{Known: []Content{{Name: name, Size: size, SHA256: sha256}}}
}

// from sets the URLs of all files to their names below the given ones.
func (i Info) from(bases ...string) Info {
	i.Files = slices.Clone(i.Files)
	for k := range i.Files {
		for _, base := range bases {
			i.Files[k].URLs = append(i.Files[k].URLs, base+i.Files[k].Name())
		}
	}
	return i
}
