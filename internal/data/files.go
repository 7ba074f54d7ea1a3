package data

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"gossiptrainer/internal/human"
)

// zstdWindow bounds the memory that a .zst file may ask for, in bytes.
const zstdWindow = 8 << 20

// withFile opens a file of a set, decompresses it if it begins as gzip or zstd does, whatever its name, and passes it
// to read.
func withFile(path string, read func(*cursor) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer f.Close()
	buffered := bufio.NewReader(f)
	magic, _ := buffered.Peek(4) // of a short file, what there is
	switch {
	case bytes.HasPrefix(magic, []byte(gzipMagic)):
		z, err := newMembers(buffered)
		if err != nil {
			return atOffset(path, 0, "%w", damaged(err))
		}
		return read(&cursor{r: z, file: path, packed: true, gzip: z})
	case bytes.Equal(magic, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return atOffset(path, 0, "%w", err)
		}
		defer z.Close()
		return read(&cursor{r: z, file: path, packed: true})
	}
	if ext := filepath.Ext(path); ext == ".gz" || ext == ".zst" {
		return atOffset(path, 0, "the name ends with %s, but the content is not compressed so: rename the file", ext)
	}
	return read(&cursor{r: buffered, file: path})
}

// damaged says what to do about an error in compressed data.
func damaged(err error) error {
	return fmt.Errorf("the compressed data are damaged or cut off (%w): fetch or compress the file again", err)
}

const gzipMagic = "\x1f\x8b"

// members reads the members of a gzip file, one after the other, and ends at bytes behind them that begin none.
type members struct {
	from   *bufio.Reader
	z      *gzip.Reader
	behind int64 // bytes behind the last member other than padding with zeros; known at the end
}

func newMembers(from *bufio.Reader) (*members, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{from: from, z: z}, nil
}

// Read implements io.Reader.
func (m *members) Read(p []byte) (int, error) {
	for m.z != nil {
		n, err := m.z.Read(p)
		if n > 0 || err != io.EOF {
			if err == io.EOF {
				err = nil // which the next call finds again
			}
			return n, err
		}
		if next, _ := m.from.Peek(len(gzipMagic)); string(next) != gzipMagic {
			m.z = nil
			break
		}
		if err := m.z.Reset(m.from); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
	return 0, m.skip()
}

// skip counts the bytes behind the last member.
func (m *members) skip() error {
	for {
		b, err := m.from.ReadByte()
		if err != nil {
			return err
		}
		if m.behind > 0 || b != 0 {
			m.behind++
		}
	}
}

// A cursor reads a file and counts the bytes, for error messages.
type cursor struct {
	r      io.Reader
	file   string
	offset int64
	packed bool     // r decompresses
	gzip   *members // nil: the file is no gzip file
}

// behind says that bytes behind gzip data were not read, "" if there were none.
func (c *cursor) behind() string {
	if c.gzip == nil || c.gzip.behind == 0 {
		return ""
	}
	return fmt.Sprintf("%s behind the gzip data are not read: is the file whole?", human.Count(int(c.gzip.behind), "byte"))
}

// Read implements io.Reader.
func (c *cursor) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.offset += int64(n)
	if c.packed && err != nil && err != io.EOF {
		err = damaged(err)
	}
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
