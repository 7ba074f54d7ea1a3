package bridge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// A conn carries messages. One goroutine reads; any may write.
type conn struct {
	socket net.Conn
	in     *bufio.Reader
	first  bool            // no message is read yet
	fd     int             // came with the first message; −1: none
	header [HeaderLen]byte // of the message being read

	handing sync.Mutex // a script that answers early must not change the vector that it is being sent
	writing sync.Mutex
	out     [HeaderLen]byte // of the message being written
}

func newConn(socket net.Conn) *conn {
	return &conn{socket: socket, in: bufio.NewReaderSize(socket, chunkLen), first: true, fd: -1}
}

// next reads a header.
func (c *conn) next() (Header, error) {
	var err error
	if c.first {
		c.fd, err = readHead(c.socket, c.in, c.header[:])
		c.first = false
	} else {
		_, err = io.ReadFull(c.in, c.header[:])
	}
	if err != nil {
		return Header{}, err
	}
	return ParseHeader(c.header[:])
}

// body reads the body of a message. It takes memory as bytes arrive, so that a wrong length costs nothing.
func (c *conn) body(h Header) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(c.in, int64(h.Length)))
	if err == nil && uint64(n) < h.Length {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// decode reads the JSON body of a message into v. Unknown keys are errors.
func (c *conn) decode(h Header, v any) error {
	text, err := c.body(h)
	if err != nil {
		return err
	}
	return strict(h.Kind, text, v)
}

// send writes a message with a body of bytes.
func (c *conn) send(h Header, body []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	h.Length = uint64(len(body))
	h.Put(c.out[:])
	if _, err := c.socket.Write(c.out[:]); err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	_, err := c.socket.Write(body)
	return err
}

// sendJSON writes a message with a JSON body.
func (c *conn) sendJSON(h Header, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%v: %w", h.Kind, err)
	}
	return c.send(h, text)
}

// sendResult writes a RESULT: the length of its text, the text, and raw bytes.
func (c *conn) sendResult(call int, r Result, raw []byte) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("RESULT: %w", err)
	}
	body := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(raw)), uint32(len(text)))
	return c.send(Header{Kind: KindResult, Round: uint64(call)}, append(append(body, text...), raw...))
}

// readStop reads the body of a STOP.
func (c *conn) readStop(h Header) (why string, err error) {
	var told stop
	if err := c.decode(h, &told); err != nil {
		return "", err
	}
	return told.Why, told.check()
}

// readCall reads a COLLECT of the script of a worker.
func (c *conn) readCall(h Header, rank, size int) (Act, error) {
	request, raw, err := c.readRequest(h)
	if err == nil {
		err = request.Check(rank, size, raw)
	}
	if err == nil && (request.Kind == Newest) != (h.Round == 0) {
		err = fmt.Errorf("COLLECT %d of kind %s: a newest has number 0, all others have one from 1", h.Round, request.Kind)
	}
	return Act{Kind: Calling, Call: int(h.Round), Request: request, Raw: raw}, err
}

// readRequest reads the body of a COLLECT.
func (c *conn) readRequest(h Header) (r Request, raw []byte, err error) {
	body, err := c.body(h)
	if err != nil {
		return r, nil, err
	}
	if len(body) < 4 {
		return r, nil, fmt.Errorf("COLLECT of %d bytes: want at least 4", len(body))
	}
	length := binary.LittleEndian.Uint32(body)
	if length > maxText || int(length) > len(body)-4 {
		return r, nil, fmt.Errorf("COLLECT: a text of %d bytes in %d", length, len(body))
	}
	err = strict(h.Kind, body[4:4+length], &r)
	return r, body[4+length:], err
}

// sendVector writes a message that hands the region over.
func (c *conn) sendVector(h Header, r *region) error {
	if r.chunk == nil {
		return c.send(h, nil)
	}
	c.handing.Lock()
	defer c.handing.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	h.Length = 4 * uint64(len(r.data))
	h.Put(c.out[:])
	if _, err := c.socket.Write(c.out[:]); err != nil {
		return err
	}
	return r.writeTo(c.socket)
}

// takeVector reads the body of a message that hands the region over, if it has one.
func (c *conn) takeVector(h Header, r *region) error {
	if h.Length == 0 {
		return nil
	}
	c.handing.Lock()
	defer c.handing.Unlock()
	return r.readFrom(c.in)
}

// readHello reads the body of HELLO and the region that came with it.
func (c *conn) readHello(h Header) (follower, *region, error) {
	defer c.closeDescriptor()
	text, err := c.body(h)
	if err != nil {
		return follower{}, nil, err
	}
	// the version comes first: another version may have other keys
	var version struct{ Version *int }
	if err := json.Unmarshal(text, &version); err == nil && version.Version != nil && *version.Version != Version {
		return follower{}, nil, fmt.Errorf("the script speaks version %d of the bridge, the peer version %d: "+
			"give both the same release, peer python install has the peer's", *version.Version, Version)
	}
	var hello follower
	if err := strict(KindHello, text, &hello); err != nil {
		return follower{}, nil, err
	}
	if version.Version == nil {
		return follower{}, nil, errors.New("HELLO: no version")
	}
	if err := hello.Check(); err != nil {
		return follower{}, nil, fmt.Errorf("HELLO: %w", err)
	}
	if len(hello.Views) > maxSum {
		return follower{}, nil, fmt.Errorf("HELLO: views has %d bytes: at most %d", len(hello.Views), maxSum)
	}
	switch {
	case hello.Memory == Frames && c.fd >= 0:
		return follower{}, nil, errors.New("HELLO: a descriptor came with memory \"frames\"")
	case hello.Memory == Frames:
		return hello, private(hello.Elements), nil
	case hello.Memory != Memfd:
		return follower{}, nil, fmt.Errorf("HELLO: memory %q: want \"memfd\" or \"frames\"", hello.Memory)
	case c.fd < 0:
		return follower{}, nil, errors.New("HELLO: no descriptor came with memory \"memfd\": " +
			"send it by SCM_RIGHTS with the first byte of HELLO")
	}
	r, err := adopt(c.fd, hello.Elements)
	return hello, r, err
}

func (c *conn) closeDescriptor() {
	if c.fd >= 0 {
		release(c.fd)
	}
	c.fd = -1
}
