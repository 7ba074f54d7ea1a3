package data

import (
	"fmt"
	"path/filepath"
)

// A MissingError says that a file of a data set does not exist.
type MissingError struct {
	Set  string // name of the set
	File string
	Dir  string // folder that was searched, with its folder Set
}

func (e *MissingError) Error() string {
	if e.Set == fileName {
		return fmt.Sprintf("data: %s: not found", filepath.Join(e.Dir, e.File))
	}
	return fmt.Sprintf("data: %s: %s: not found in %s or its folder %s", e.Set, e.File, e.Dir, e.Set)
}

// Hint returns a command, or the files to put into the folder.
func (e *MissingError) Hint() string {
	switch e.Set {
	case fileName:
		return "set data.path, and data.test or data.label where you use them, to files or folders that exist"
	case libsvmName:
		return fmt.Sprintf("put %s and %s into %s", libsvmTrain, libsvmTest, e.Dir)
	}
	return "peer data fetch " + e.Set
}

// A ChecksumError says that a file differs from the published one.
type ChecksumError struct {
	Set, File string
	Got       string // SHA-256, hex
	Want      string // the published one
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("data: %s: %s: sha256 is %s, want %s", e.Set, e.File, e.Got, e.Want)
}

// A FormatError says where a file violates its format.
type FormatError struct {
	File  string
	Place string // like "offset 16", of the decompressed content, or "line 3"; "": the whole file
	Err   error
}

func (e *FormatError) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("data: %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("data: %s: %s: %v", e.File, e.Place, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

func atOffset(file string, offset int64, format string, args ...any) error {
	return &FormatError{file, fmt.Sprintf("offset %d", offset), fmt.Errorf(format, args...)}
}

func atLine(file string, line int, format string, args ...any) error {
	return &FormatError{file, fmt.Sprintf("line %d", line), fmt.Errorf(format, args...)}
}

// atFile is for errors of a whole file.
func atFile(file, format string, args ...any) error {
	return &FormatError{File: file, Err: fmt.Errorf(format, args...)}
}
