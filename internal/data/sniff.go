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

// A fileFormat is the format of a user's file.
type fileFormat string

const (
	formatCSV     fileFormat = "CSV"
	formatLIBSVM  fileFormat = "LIBSVM"
	formatNPY     fileFormat = "NumPy array"
	formatNPZ     fileFormat = "NumPy archive"
	formatParquet fileFormat = "Parquet"
	formatIDX     fileFormat = "IDX"
	formatImages  fileFormat = "folder of pictures"
)

// refused returns the beginnings of files that are not read, and what to do.
func refused() [][2]string {
	return [][2]string{
		{"\x89HDF", "an HDF5 file: save the arrays with numpy.savez"},
		{"\x89PNG", "one picture: want a folder with one folder of pictures per class"},
		{"\xff\xd8\xff", "one picture: want a folder with one folder of pictures per class"},
		{"SQLite format 3", "a database: save the table as CSV"},
		{"ARROW1", "an Arrow file: save it as Parquet"},
		{"{", "JSON: save it as CSV"},
		{"[", "JSON: save it as CSV"},
	}
}

// sniff returns the format of a file by its first bytes.
func sniff(path string) (fileFormat, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err) || err != nil && isNotDir(err):
		return "", &MissingError{Set: fileName, File: filepath.Base(path), Dir: filepath.Dir(path)}
	case err != nil:
		return "", atFile(path, "%w", err)
	case info.IsDir():
		return formatImages, nil
	case !info.Mode().IsRegular():
		return "", atFile(path, "neither a regular file nor a folder")
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
		return "", err
	}
	return formatOf(path, head)
}

// formatOf decides by the first bytes of a file, and for text by the suffix of its name too.
func formatOf(path string, head []byte) (fileFormat, error) {
	if len(bytes.TrimSpace(head)) == 0 {
		return "", atLine(path, 1, "the file is empty")
	}
	if what := Mistaken(head); what != "" {
		return "", atOffset(path, 0, "%s", what)
	}
	if IsTorchArchive(head) || IsPickle(head) {
		return "", atOffset(path, 0, "a pickle, which could run code when read: save arrays with numpy.savez")
	}
	if len(head) > 10 && head[8] == '{' && head[9] == '"' && head[7] == 0 && head[6] == 0 {
		return "", atOffset(path, 0, "a model file (safetensors): want samples")
	}
	for _, r := range refused() {
		if bytes.HasPrefix(head, []byte(r[0])) {
			return "", atOffset(path, 0, "%s", r[1])
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return formatNPY, nil
	case bytes.HasPrefix(head, []byte("PK")):
		return formatNPZ, checkArchive(path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return formatParquet, nil
	case len(head) >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14:
		return formatIDX, nil
	case isLIBSVM(path, head):
		return formatLIBSVM, nil
	case isProse(path, head):
		return "", atLine(path, 1, "plain text: none of the built-in models learns from text; a script of yours "+
			"with model.name external can")
	}
	return formatCSV, nil
}

// checkArchive refuses a zip file without arrays.
func checkArchive(path string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return atOffset(path, 0, "%w", err)
	}
	defer archive.Close()
	if len(arraysOf(&archive.Reader)) > 0 {
		return nil
	}
	if slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == "[Content_Types].xml" }) {
		return atOffset(path, 0, "an Excel workbook: save the sheet as CSV")
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

// openRows opens a user's file of any format.
func openRows(path string, c Columns, p part) (rows, error) {
	kind, err := sniff(path)
	if err != nil {
		return nil, err
	}
	if kind != formatCSV && c.Header != "" && c.Header != "auto" {
		return nil, atFile(path, "data.header is for CSV files: this is %s", kind)
	}
	switch kind {
	case formatNPY:
		return openArray(path, c, openNPY)
	case formatIDX:
		return openArray(path, c, openIDX)
	case formatNPZ:
		return openNPZ(path, c, p)
	case formatParquet:
		return asRows(openParquet(path, c))
	case formatImages:
		return asRows(openImages(path, c))
	case formatLIBSVM:
		return asRows(openSparse(path, c))
	}
	return asRows(openCSV(path, c))
}

func asRows[R rows](r R, err error) (rows, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
