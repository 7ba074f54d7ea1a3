package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readSource returns the text of FILE on the command line, which may be a preset, and its name for messages.
func readSource(name string, presets []Preset) (text []byte, shown string, err error) {
	if !isPath(name) {
		found, names := preset(name, presets)
		if found != nil {
			return found.Text, name + " (embedded preset)", nil
		}
		if _, err := os.Stat(name); err != nil {
			return nil, name, &Error{[]Problem{{
				Message: fmt.Sprintf("%q is neither a file nor a preset; presets: %s", name, strings.Join(names, ", ")),
				Hint:    didYouMean(name, names),
			}}}
		}
	}
	text, err = readBounded(name)
	if err != nil {
		return nil, name, &Error{[]Problem{{Message: reason(err), Source: name}}}
	}
	return text, name, nil
}

// isPath reports whether a name can only be that of a file.
func isPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml"
}

// readBounded reads a file of at most maxFile bytes, and one more of a larger one.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// reason returns why a file could not be read, without its name.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return "cannot be read: " + err.Error()
}

// IsComparison reports whether a name is that of a comparison file rather than a run file.
func IsComparison(name string) bool {
	text, shown, err := readSource(name, Comparisons())
	if err != nil {
		return false
	}
	root, ok := parseDocument(shown, text).root.(map[string]any)
	return ok && root["algorithms"] != nil
}

// IsRunFile reports whether a name is that of a preset or of a file with sections of a run file.
func IsRunFile(name string) bool {
	if _, err := os.Stat(name); err != nil {
		found, _ := preset(name, Presets())
		return found != nil
	}
	text, shown, err := readSource(name, nil)
	if err != nil {
		return false
	}
	root, ok := parseDocument(shown, text).root.(map[string]any)
	if !ok || root["algorithms"] != nil || root["base"] != nil {
		return false
	}
	for _, section := range []string{"algorithm", "topology", "model", "train", "data"} {
		if root[section] != nil {
			return true
		}
	}
	return false
}

// ComparisonText returns a comparison file as it is written.
func ComparisonText(name string) ([]byte, error) {
	text, _, err := readSource(name, Comparisons())
	return text, err
}
