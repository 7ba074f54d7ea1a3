package data

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// fileName is the name of a set in a file of the user, which is in no list.
const fileName = "file"

// sniffBytes are read of a file for its format.
const sniffBytes = 4096

// A fileFormat is a row of the table: how a user's file is known by its first bytes, and read.
type fileFormat struct {
	name string // for people
	// is reports whether a file has the format: by its first bytes, which are nil for a folder, or for text by the suffix
	// of its name too.
	is     func(path string, head []byte) bool
	refuse string // why such a file is refused, and what to do; "": it is read
	// A file is read by one of the following. An array may have its labels in another file.
	open  func(path string, c Columns, p part) (rows, error)
	array func(path string) (*array, error)
}

const (
	workbook   = "an Excel or OpenDocument workbook: save the sheet as CSV"
	emptyFile  = "the file is empty: name another one, or put samples into it"
	onePicture = "one picture: want a folder with one folder of pictures per class"
	jsonText   = "JSON: save it as CSV"
)

// Names of the formats of pictures.
const (
	pictureFolder = "folder of pictures"
	pictureFile   = "picture"
)

// formats returns the table. The first row that fits a file is that of its format, and the last one fits all.
func formats() []fileFormat {
	return []fileFormat{
		{name: pictureFolder, is: func(_ string, head []byte) bool { return head == nil }, open: plainly(openImages)},
		{is: isCode, refuse: "a pickle, which could run code when read: save arrays with numpy.savez"},
		{is: isModel, refuse: "a model file (safetensors): want samples"},
		{is: begins("\x89HDF"), refuse: "an HDF5 file: save the arrays with numpy.savez"},
		{name: pictureFile, is: begins("\x89PNG"), open: plainly(openPicture)},
		{name: pictureFile, is: begins("\xff\xd8\xff"), open: plainly(openPicture)},
		{is: begins("SQLite format 3"), refuse: "a database: save the table as CSV"},
		{is: begins("ARROW1"), refuse: "an Arrow file: save it as Parquet"},
		{is: isScript, refuse: "a script, which trains with data of its own: peer lab -- python3 FILE, see docs/script.md"},
		{is: begins("{"), refuse: jsonText},
		{is: begins("["), refuse: jsonText},
		{is: begins("@relation"), refuse: "an ARFF file: save it as CSV"},
		{is: begins("MATLAB 5.0 MAT-file"), refuse: "a MATLAB file: save the arrays with numpy.savez"},
		{is: begins("\xd0\xcf\x11\xe0"), refuse: workbook},
		{is: isPacked, refuse: "packed with tar, bzip2, xz, 7z or rar: unpack it"},
		{name: "NumPy array", is: begins(npyMagic), array: openNPY},
		{name: "NumPy archive", is: begins("PK"), open: openNPZ},
		{name: "Parquet", is: begins("PAR1"), open: plainly(openParquet)},
		{name: "IDX", is: isIDX, array: openIDX},
		{name: "LIBSVM", is: isLIBSVM, open: plainly(openSparse)},
		{name: formatCSV, is: func(string, []byte) bool { return true }, open: plainly(openCSV)},
	}
}

// formatCSV is the format of all other text.
const formatCSV = "CSV"

// begins knows a format by the first bytes of its files.
func begins(magic string) func(string, []byte) bool {
	return func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// plainly opens files that hold one part.
func plainly[R rows](open func(path string, c Columns) (R, error)) func(string, Columns, part) (rows, error) {
	return func(path string, c Columns, _ part) (rows, error) {
		made, err := open(path, c)
		if err != nil {
			return nil, err
		}
		return made, nil
	}
}

func isCode(_ string, head []byte) bool { return IsTorchArchive(head) || IsPickle(head) }

func isPacked(_ string, head []byte) bool {
	at := func(offset int, magic string) bool {
		return len(head) > offset && bytes.HasPrefix(head[offset:], []byte(magic))
	}
	return at(257, "ustar") || at(4, "1AY&SY") || at(0, "\xfd7zXZ\x00") || at(0, "7z\xbc\xaf") || at(0, "Rar!\x1a")
}

func isModel(_ string, head []byte) bool {
	return len(head) > 10 && head[8] == '{' && head[9] == '"' && head[7] == 0 && head[6] == 0
}

func isScript(path string, head []byte) bool {
	return filepath.Ext(path) == ".py" || bytes.HasPrefix(head, []byte("#!"))
}

func isIDX(_ string, head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14
}

// sniff returns the format of a file by its first bytes.
func sniff(path string) (fileFormat, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err) || err != nil && isNotDir(err):
		return fileFormat{}, &MissingError{Set: fileName, File: filepath.Base(path), Dir: filepath.Dir(path)}
	case err != nil:
		return fileFormat{}, atFile(path, "%w", err)
	case info.IsDir():
		return formatOf(path, nil)
	case !info.Mode().IsRegular():
		return fileFormat{}, atFile(path, "neither a regular file nor a folder")
	}
	head := make([]byte, sniffBytes)
	err = withFile(path, func(c *cursor) error {
		n, err := io.ReadFull(c, head)
		head = head[:n]
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return atOffset(path, int64(n), "%w", err)
		}
		return nil
	})
	if err != nil {
		return fileFormat{}, err
	}
	return formatOf(path, head)
}

// formatOf returns the first row that fits a file, by its first bytes.
func formatOf(path string, head []byte) (fileFormat, error) {
	if head != nil && len(bytes.TrimSpace(head)) == 0 {
		return fileFormat{}, atLine(path, 1, emptyFile)
	}
	if what := Mistaken(head); what != "" {
		return fileFormat{}, atOffset(path, 0, "%s", what)
	}
	all := formats()
	found := all[slices.IndexFunc(all, func(f fileFormat) bool { return f.is(path, head) })]
	switch {
	case found.refuse != "":
		return found, atOffset(path, 0, "%s", found.refuse)
	case found.name == formatCSV && isProse(path, head):
		return found, atLine(path, 1, "plain text: none of the built-in models learns from text; a script of yours "+
			"with model.name external can")
	}
	return found, nil
}

// checkArchive refuses a zip file without arrays.
func checkArchive(path string, archive *zip.Reader) error {
	if len(arraysOf(archive)) > 0 {
		return nil
	}
	if slices.ContainsFunc(archive.File, func(f *zip.File) bool {
		return f.Name == "[Content_Types].xml" || f.Name == "content.xml" // of Excel, of OpenDocument
	}) {
		return atOffset(path, 0, "%s", workbook)
	}
	return atOffset(path, 0, "a zip file without arrays: unpack it, or save arrays with numpy.savez")
}

// isLIBSVM reports whether the first line has a pair index:value, or the name says so.
func isLIBSVM(path string, head []byte) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".libsvm", ".svm", ".svmlight":
		return true
	}
	line, _, _ := strings.Cut(string(head), "\n")
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return false
	}
	index, value, ok := strings.Cut(fields[1], ":")
	_, errIndex := strconv.Atoi(index)
	_, errValue := strconv.ParseFloat(value, 64)
	_, errLabel := strconv.ParseFloat(fields[0], 64)
	return ok && errIndex == nil && errValue == nil && errLabel == nil
}

// isProse reports whether a file with the name of a text is no table: it has no number among the fields of its second
// line.
func isProse(path string, head []byte) bool {
	switch filepath.Ext(path) {
	case ".txt", ".text", ".md":
	default:
		return false
	}
	if isWordTable(head) {
		return false
	}
	lines := strings.Split(string(withoutComments(head)), "\n")
	if delimited := strings.ContainsAny(lines[0], ",;\t"); !delimited || len(lines) < 2 {
		return !delimited
	}
	for field := range strings.FieldsFuncSeq(lines[1], func(r rune) bool { return strings.ContainsRune(",;\t\r", r) }) {
		if _, err := strconv.ParseFloat(strings.TrimSpace(field), 64); err == nil {
			return false
		}
	}
	return true
}

// ErrNoText says that a file has no texts that could be encoded.
var ErrNoText = errors.New("data.encode is for CSV files")

// openRows opens a user's file of any format.
func openRows(path string, c Columns, p part) (rows, error) {
	f, err := sniff(path)
	switch {
	case err != nil:
		return nil, err
	case f.name != formatCSV && c.Header != "" && c.Header != "auto":
		return nil, atFile(path, "data.header is for CSV files: this is %s", f.name)
	case f.name != formatCSV && c.Encode:
		return nil, atFile(path, "%w: this is %s", ErrNoText, f.name)
	case f.array != nil:
		return openArray(path, c, f.array)
	}
	return f.open(path, c, p)
}
