package data

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

// unpack extracts the files of a set from the publisher's .tar.gz, from any folder in it. It puts files with the right
// checksum into folder.
func unpack(archive string, info Info, folder string) error {
	wanted := make(map[string]Content)
	for _, f := range info.Files {
		wanted[f.Name()] = f.Known[0]
	}
	return withFile(archive, func(c *cursor) error {
		t := tar.NewReader(c)
		for len(wanted) > 0 {
			header, err := t.Next()
			if err != nil {
				return fmt.Errorf("data: %s: %w", archive, err)
			}
			name := path.Base(header.Name)
			content, ok := wanted[name]
			if !ok || header.Typeflag != tar.TypeReg {
				continue
			}
			if err := writeChecked(filepath.Join(folder, name), t, info.Name, content); err != nil {
				return err
			}
			delete(wanted, name)
		}
		return nil
	})
}

// writeChecked replaces the content of path by r, or leaves it unchanged if r has another checksum.
func writeChecked(path string, r io.Reader, set string, want Content) error {
	out, err := safefile.New(path, 0o644)
	if err != nil {
		return fmt.Errorf("data: %s: %w", set, err)
	}
	defer out.Cleanup()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(r, want.Size+1)); err != nil {
		return fmt.Errorf("data: %s: %s: %w", set, want.Name, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want.SHA256 {
		return &ChecksumError{Set: set, File: want.Name, Got: got, Want: want.SHA256}
	}
	return out.Commit()
}
