package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A FileReport is the result of Verify for one file.
type FileReport struct {
	File   string `json:"file"`             // publisher's name
	Path   string `json:"path,omitempty"`   // empty: missing
	Size   int64  `json:"size"`             // bytes
	SHA256 string `json:"sha256,omitempty"` // hex
	Note   string `json:"note,omitempty"`   // form of the file, if not the publisher's
	Err    error  `json:"-"`                // nil, *MissingError, *ChecksumError, or an error of reading
}

// Verify compares the files of a set below dir with the known checksums. The report has one entry per file, none for
// the built-in set; the error joins those of the entries.
func Verify(name, dir string) ([]FileReport, error) {
	info, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	var report []FileReport
	var errs []error
	for _, f := range info.Files {
		r := verifyFile(name, dir, f)
		report = append(report, r)
		errs = append(errs, r.Err)
	}
	return report, errors.Join(errs...)
}

func verifyFile(set, dir string, f File) FileReport {
	r := FileReport{File: f.Name()}
	if r.Path, r.Err = locate(set, dir, f.names()...); r.Err != nil {
		return r
	}
	if r.Size, r.SHA256, r.Err = fileSum(r.Path); r.Err != nil {
		return r
	}
	for _, known := range f.Known {
		if known.SHA256 == r.SHA256 {
			r.Note = known.Note
			return r
		}
	}
	r.Err = &ChecksumError{Set: set, File: r.Path, Got: r.SHA256, Want: f.Known[0].SHA256}
	return r
}

// fileSum returns the length of a file and its SHA-256 in hex.
func fileSum(path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// FileSums returns the files of a set of the user with their sizes and checksums. A folder has the checksum of the sums
// of its files, in the order of their names.
func FileSums(spec FileSpec) ([]FileReport, error) {
	var all []FileReport
	paths := []string{spec.Path}
	if spec.Test != "" {
		paths = append(paths, spec.Test)
	}
	for _, path := range paths {
		files, err := parts(path, spec.Columns)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			r := FileReport{File: filepath.Base(file), Path: file}
			if r.Size, r.SHA256, err = treeSum(file); err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	return all, nil
}

// parts returns a file, and the file of its labels if there is one.
func parts(path string, c Columns) ([]string, error) {
	f, err := sniff(path)
	if _, number := strconv.Atoi(c.Label); err != nil || f.array == nil || number == nil {
		return []string{path}, err
	}
	labels, err := labelsBeside(path, c.Label)
	if labels == "" {
		return []string{path}, err
	}
	return []string{path, labels}, err
}

// treeSum is fileSum for a file or a folder.
func treeSum(root string) (size int64, sum string, err error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return fileSum(root)
	}
	h := sha256.New()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		n, part, err := linkedSum(path, entry)
		size += n
		name, _ := filepath.Rel(root, path) // path is below root
		fmt.Fprintf(h, "%s  %s\n", part, filepath.ToSlash(name))
		return err
	})
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// linkedSum is fileSum that also takes a link to a folder of pictures.
func linkedSum(path string, entry fs.DirEntry) (size int64, sum string, err error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		return fileSum(path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return fileSum(path)
	}
	h := sha256.New()
	err = visible(path, func(name string, isFolder bool) error {
		if isFolder { // which no class has
			return nil
		}
		n, part, err := fileSum(filepath.Join(path, name))
		size += n
		fmt.Fprintf(h, "%s  %s\n", part, name)
		return err
	})
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// Sums returns the files of a set below dir with their sizes and actual checksums. A built-in set has no files.
func Sums(name, dir string) ([]FileReport, error) {
	names := [][]string{{libsvmTrain}, {libsvmTest}}
	if name != libsvmName {
		info, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		names = nil
		for _, f := range info.Files {
			names = append(names, f.names())
		}
	}
	var all []FileReport
	for _, known := range names {
		path, err := locate(name, dir, known...)
		if err != nil {
			return nil, err
		}
		size, sum, err := fileSum(path)
		if err != nil {
			return nil, err
		}
		all = append(all, FileReport{File: known[0], Path: path, Size: size, SHA256: sum})
	}
	return all, nil
}
