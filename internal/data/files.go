package data

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zstdWindow bounds the memory that a .zst file may ask for, in bytes.
const zstdWindow = 8 << 20

// withFile opens a file of a set, decompresses it according to its suffix (.gz, .zst) and passes it to read.
func withFile(path string, read func(*cursor) error) error {
	if strings.HasSuffix(path, ".gz") {
		return withGzip(path, read)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".zst") {
		return read(&cursor{r: f, file: path})
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return atOffset(path, 0, "%w", err)
	}
	defer z.Close()
	return read(&cursor{r: z, file: path})
}

// withGzip is withFile for a gzip file of any name.
func withGzip(path string, read func(*cursor) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return atOffset(path, 0, "%w", err)
	}
	return read(&cursor{r: z, file: path})
}

// A cursor reads a file and counts the bytes, for error messages.
type cursor struct {
	r      io.Reader
	file   string
	offset int64
}

// Read implements io.Reader.
func (c *cursor) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.offset += int64(n)
	return n, err
}

// full reads len(p) bytes.
func (c *cursor) full(p []byte) error {
	n, err := io.ReadFull(c, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return atOffset(c.file, c.offset, "the file ends here, %d bytes too early", len(p)-n)
	}
	if err != nil {
		return atOffset(c.file, c.offset, "%w", err)
	}
	return nil
}

// end checks that the file ends here.
func (c *cursor) end() error {
	var b [1]byte
	n, err := io.ReadFull(c, b[:])
	if n > 0 {
		return atOffset(c.file, c.offset-1, "the file continues where it should end")
	}
	if err != io.EOF {
		return atOffset(c.file, c.offset, "%w", err)
	}
	return nil
}
