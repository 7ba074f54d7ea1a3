package describe

import (
	"fmt"
	"io"
	"slices"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
)

// A Set is one line of "data list".
type Set struct {
	data.Info
	State string `json:"state"` // built in, here, damaged or missing
}

// Sets returns all data sets with their state in the folder root.
func Sets(root string) []Set {
	var sets []Set
	for _, info := range data.Sets() {
		sets = append(sets, Set{info, stateOf(info, root)})
	}
	return sets
}

func stateOf(info data.Info, root string) string {
	if len(info.Files) == 0 {
		return "built in"
	}
	_, err := data.Verify(info.Name, root)
	switch {
	case err == nil:
		return "here"
	case advice.Is[*data.MissingError](err):
		return "missing"
	}
	return "damaged"
}

// WriteSets prints a line per set.
func WriteSets(w io.Writer, sets []Set) error {
	t := human.AlignLeft(w)
	fmt.Fprintln(t, "NAME\tSTATE\tTRAIN\tTEST\tSAMPLE\tCLASSES\tTITLE")
	for _, s := range sets {
		sample := fmt.Sprint(s.Shape.Features())
		if s.Shape.H > 1 {
			sample = fmt.Sprintf("%dx%dx%d", s.Shape.H, s.Shape.W, s.Shape.C)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%d\t%s\n", s.Name, s.State, s.Train, s.Test, sample, len(s.Classes), s.Title)
	}
	return t.Flush()
}

// SetNames returns the names of all data sets.
func SetNames() []string {
	var names []string
	for _, info := range data.Sets() {
		names = append(names, info.Name)
	}
	return names
}

// FindSet returns a set by name and the folder of the sets, dir or the default. An unknown name is a usage error.
func FindSet(name, dir string) (data.Info, string, error) {
	info, err := data.Lookup(name)
	if err != nil {
		return info, "", advice.OneOf("data: set", name, SetNames())
	}
	root, err := data.Root(dir)
	return info, root, err
}

// A File is one line of "data verify".
type File struct {
	Set string `json:"set"`
	data.FileReport
	Error string `json:"error,omitempty"`
}

// VerifySets checks the files of the named sets; without names, of all sets with files on this machine.
func VerifySets(names []string, dir string) ([]File, error) {
	files := []File{}
	named := len(names) > 0
	if !named {
		names = SetNames()
	}
	for _, name := range names {
		info, root, err := FindSet(name, dir)
		if err != nil {
			return nil, err
		}
		reports, _ := data.Verify(info.Name, root) // its error joins those of the files
		here := slices.ContainsFunc(reports, func(r data.FileReport) bool { return r.Path != "" })
		if !named && !here {
			continue
		}
		for _, r := range reports {
			v := File{Set: name, FileReport: r}
			if r.Err != nil {
				v.Error = r.Err.Error()
			}
			files = append(files, v)
		}
	}
	return files, nil
}

// WrongFiles returns an error that counts the wrong files and wraps their errors.
func WrongFiles(files []File) error {
	var errs []error
	for _, f := range files {
		if f.Err != nil {
			errs = append(errs, f.Err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &filesError{fmt.Sprintf("data: %s %s missing or not as published",
		human.Part(len(errs), len(files), "file"), human.Verb(len(errs), "is", "are")), errs}
}

// A filesError stands for the errors of several files.
type filesError struct {
	text string
	errs []error
}

func (e *filesError) Error() string { return e.text }

func (e *filesError) Unwrap() []error { return e.errs }

// WriteFiles prints a line per file.
func WriteFiles(w io.Writer, files []File) error {
	t := human.AlignLeft(w)
	fmt.Fprintln(t, "SET\tFILE\tSIZE\tSTATE")
	for _, f := range files {
		state := "ok"
		switch {
		case advice.Is[*data.MissingError](f.Err):
			state = "missing"
		case advice.Is[*data.ChecksumError](f.Err):
			state = "wrong checksum " + f.SHA256
		case f.Err != nil:
			state = f.Err.Error()
		case f.Note != "":
			state = "ok: " + f.Note
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Set, f.File, human.Size(f.Size), state)
	}
	return t.Flush()
}
