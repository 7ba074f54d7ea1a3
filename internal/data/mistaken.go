package data

import (
	"bytes"
	"fmt"
	"strings"
)

// Mistaken names the format of a file that holds neither samples nor a model, from its first bytes, and says what to
// do. It returns "" for bytes that it does not know.
func Mistaken(head []byte) string {
	begins := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	lower := strings.ToLower(string(begins[:min(len(begins), 512)]))
	switch {
	case strings.HasPrefix(lower, "version https://git-lfs"):
		return "a Git LFS pointer, not the file itself: fetch it with git lfs pull" + pointerSize(lower)
	case strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"), strings.HasPrefix(lower, "<head"):
		return "an HTML page, such as a login or error page: download the file itself"
	case strings.HasPrefix(lower, "<?xml"):
		return "XML, which may be the error message of a download: fetch the file itself"
	case strings.HasPrefix(lower, "{") && bytes.Contains(head, []byte(`"weight_map"`)):
		return "the index of a model in several files: name a file with all tensors"
	case bytes.HasPrefix(head, []byte("%PDF")):
		return "a PDF document: save its table as CSV"
	}
	return ""
}

// pointerSize returns the size of the file that a Git LFS pointer stands for, in parentheses.
func pointerSize(pointer string) string {
	_, rest, found := strings.Cut(pointer, "\nsize ")
	size, _, _ := strings.Cut(rest, "\n")
	if size = strings.TrimSpace(size); !found || size == "" || strings.Trim(size, "0123456789") != "" {
		return ""
	}
	return fmt.Sprintf(" (%s bytes)", size)
}

// IsPickle reports whether a file begins as a pickle does, as torch.save wrote it once.
func IsPickle(head []byte) bool {
	return len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// IsTorchArchive reports whether a file begins as a zip file of torch.save, whose first entry is a pickle.
func IsTorchArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) && len(head) > 30 &&
		bytes.Contains(head[30:min(len(head), 30+256)], []byte("/data.pkl"))
}
