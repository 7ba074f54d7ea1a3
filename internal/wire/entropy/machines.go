package entropy

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	bzip2writer "github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/fse"
	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// machines holds the coders with their scratch memory. They are made at their first use. It is not safe for concurrent
// use.
type machines struct {
	huff  *huff0.Scratch
	table *fse.Scratch
	zenc  *zstd.Encoder
	zdec  *zstd.Decoder
	bzip  *bzip2writer.Writer
}

var errLength = errors.New("of another length")

// encode appends the coded form of src to dst and reports whether it is smaller. An error comes from the library or is
// a fault of this program.
func (m *machines) encode(dst []byte, c Coder, src []byte) (out []byte, smaller bool, err error) {
	switch c {
	case Huff0:
		out, smaller, err = m.encodeHuff0(dst, src)
	case FSE:
		out, smaller, err = m.encodeFSE(dst, src)
	case Zstd:
		out, smaller, err = m.encodeZstd(dst, src)
	case Bzip2:
		out, smaller, err = m.encodeBzip2(dst, src)
	default:
		return dst, false, fmt.Errorf("internal error: entropy: %v codes no blocks", c)
	}
	if err != nil {
		return dst, false, fmt.Errorf("entropy: %v: %w", c, err)
	}
	return out, smaller && len(out)-len(dst) < len(src), nil
}

// decode fills dst, and nothing more, from src.
func (m *machines) decode(dst []byte, c Coder, src []byte) error {
	switch c {
	case Huff0:
		return m.decodeHuff0(dst, src)
	case FSE:
		return m.decodeFSE(dst, src)
	case Zstd:
		return m.decodeZstd(dst, src)
	case Bzip2:
		return decodeBzip2(dst, src)
	}
	return errors.New("no coder of blocks")
}

func (m *machines) scratch() *huff0.Scratch {
	if m.huff == nil {
		m.huff = &huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	}
	return m.huff
}

func (m *machines) encodeHuff0(dst, src []byte) ([]byte, bool, error) {
	out, _, err := huff0.Compress4X(src, m.scratch())
	if errors.Is(err, huff0.ErrIncompressible) || errors.Is(err, huff0.ErrUseRLE) {
		return dst, false, nil
	}
	return append(dst, out...), err == nil, err
}

func (m *machines) decodeHuff0(dst, src []byte) error {
	s, body, err := huff0.ReadTable(src, m.scratch())
	if err != nil {
		return err
	}
	out, err := s.Decoder().Decompress4X(dst[:0:len(dst)], body)
	if err == nil && len(out) != len(dst) {
		err = errLength
	}
	return err
}

func (m *machines) states() *fse.Scratch {
	if m.table == nil {
		m.table = new(fse.Scratch)
	}
	return m.table
}

func (m *machines) encodeFSE(dst, src []byte) ([]byte, bool, error) {
	out, err := fse.Compress(src, m.states())
	if errors.Is(err, fse.ErrIncompressible) || errors.Is(err, fse.ErrUseRLE) {
		return dst, false, nil
	}
	return append(dst, out...), err == nil, err
}

func (m *machines) decodeFSE(dst, src []byte) error {
	s := m.states()
	mine := s.Out
	s.Out, s.DecompressLimit = dst[:0:len(dst)], len(dst)+1
	out, err := fse.Decompress(src, s)
	s.Out = mine // the library must not keep dst
	if err == nil && len(out) != len(dst) {
		err = errLength
	}
	return err
}

// zstdWindow is the distance within which Zstd finds repetitions, in bytes.
const zstdWindow = 1 << 20

func (m *machines) encodeZstd(dst, src []byte) ([]byte, bool, error) {
	if m.zenc == nil {
		var err error
		m.zenc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
		if err != nil {
			return dst, false, err
		}
	}
	return m.zenc.EncodeAll(src, dst), true, nil
}

func (m *machines) decodeZstd(dst, src []byte) error {
	if m.zdec == nil {
		var err error
		m.zdec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return err
		}
	}
	out, err := m.zdec.DecodeAll(src, dst[:0:len(dst)])
	if err == nil && len(out) != len(dst) {
		err = errLength
	}
	return err
}

func (m *machines) encodeBzip2(dst, src []byte) ([]byte, bool, error) {
	out := bytes.NewBuffer(dst)
	var err error
	if m.bzip == nil {
		m.bzip, err = bzip2writer.NewWriter(out, &bzip2writer.WriterConfig{Level: bzip2writer.BestCompression})
	} else {
		err = m.bzip.Reset(out)
	}
	if err == nil {
		_, err = m.bzip.Write(src)
	}
	if err == nil {
		err = m.bzip.Close()
	}
	if err != nil {
		return dst, false, err
	}
	return out.Bytes(), true, nil
}

func decodeBzip2(dst, src []byte) error {
	r := bzip2.NewReader(bytes.NewReader(src))
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return errLength
	}
	return nil
}
