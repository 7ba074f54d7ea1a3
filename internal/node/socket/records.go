package socket

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// After the handshake, which package crypto/tls does, records take over the connection: the same TLS 1.3
// (RFC 8446, section 5), without the copies that a byte takes through crypto/tls. Bytes are encrypted in
// the buffer that goes to the socket, several records by one system call, and decrypted where they came
// in. The other end cannot tell the difference.
type records struct {
	net.Conn
	in        *intake
	reads     half
	head      [recordHead]byte // of the last record read
	plain     []byte           // decrypted, not yet read; part of the buffer of in
	ended     error            // of reading
	rekey     atomic.Bool
	writing   sync.Mutex
	writes    half
	out       []byte
	broken    error // of writing: after half a record, the rest is useless
	mostOfKey uint64
}

const (
	recordLen  = 16 << 10 // most bytes of a record
	recordHead = 5
	recordMore = recordHead + 1 + 16 // header, type and tag
	// rekeyAfter is how many records a key may encrypt (RFC 8446, section 5.5): 275 GB of full ones.
	rekeyAfter = 1 << 24
)

// Types of records, and the messages that may come after a handshake.
const (
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23

	newTicket = 4
	keyUpdate = 24
)

var errRecord = errors.New("node: tls: a record was changed on the way, or is out of order")

// A half is the encryption of one direction.
type half struct {
	suite  uint16
	secret []byte
	aead   cipher.AEAD
	iv     [12]byte
	nonce  [12]byte // of the last record
	seq    uint64   // of the next record
}

// newHalf derives the keys of a traffic secret.
func newHalf(suite uint16, secret []byte) (half, error) {
	h := half{suite: suite, secret: secret}
	length := 16
	if suite == tls.TLS_AES_256_GCM_SHA384 {
		length = 32
	}
	key, err := h.expand("key", length)
	if err != nil {
		return half{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return half{}, err
	}
	if h.aead, err = cipher.NewGCM(block); err != nil {
		return half{}, err
	}
	iv, err := h.expand("iv", len(h.iv))
	copy(h.iv[:], iv)
	return h, err
}

// expand is HKDF-Expand-Label of RFC 8446, section 7.1, with an empty context.
func (h *half) expand(label string, length int) ([]byte, error) {
	label = "tls13 " + label
	info := append([]byte{0, byte(length), byte(len(label))}, label...)
	return hkdf.Expand(h.digest(), h.secret, string(append(info, 0)), length)
}

func (h *half) digest() func() hash.Hash {
	if h.suite == tls.TLS_AES_256_GCM_SHA384 {
		return sha512.New384
	}
	return sha256.New
}

// update replaces the keys by the next ones (RFC 8446, section 7.2).
func (h *half) update() error {
	secret, err := h.expand("traffic upd", h.digest()().Size())
	if err == nil {
		*h, err = newHalf(h.suite, secret)
	}
	return err
}

// next returns the nonce of the next record.
func (h *half) next() []byte {
	h.nonce = h.iv
	binary.BigEndian.PutUint64(h.nonce[4:], binary.BigEndian.Uint64(h.iv[4:])^h.seq)
	h.seq++
	return h.nonce[:]
}

// secrets takes the traffic secrets of a handshake from the lines that crypto/tls writes for
// tls.Config.KeyLogWriter: a label, the random bytes of the client, the secret.
type secrets struct{ client, server []byte }

func (s *secrets) Write(line []byte) (int, error) {
	words := bytes.Fields(line)
	if len(words) != 3 {
		return len(line), nil
	}
	to := map[string]*[]byte{"CLIENT_TRAFFIC_SECRET_0": &s.client, "SERVER_TRAFFIC_SECRET_0": &s.server}[string(words[0])]
	if to == nil {
		return len(line), nil
	}
	secret, err := hex.DecodeString(string(words[2]))
	*to = secret
	return len(line), err
}

// takeOver returns the connection of c after its handshake; nil if c has another suite than AES-GCM,
// as on machines without instructions for AES.
func takeOver(c *tls.Conn, in *intake, s *secrets, client bool) (*records, error) {
	suite := c.ConnectionState().CipherSuite
	if suite != tls.TLS_AES_128_GCM_SHA256 && suite != tls.TLS_AES_256_GCM_SHA384 || s.client == nil || s.server == nil {
		return nil, nil
	}
	mine, theirs := s.client, s.server
	if !client {
		mine, theirs = theirs, mine
	}
	writes, err := newHalf(suite, mine)
	if err != nil {
		return nil, fmt.Errorf("node: tls: %w", err)
	}
	reads, err := newHalf(suite, theirs)
	if err != nil {
		return nil, fmt.Errorf("node: tls: %w", err)
	}
	in.whole()
	return &records{Conn: in.Conn, in: in, reads: reads, writes: writes, mostOfKey: rekeyAfter}, nil
}

// Chunk returns at most most decrypted bytes, which are valid until the next call.
func (r *records) Chunk(most int) ([]byte, error) {
	for len(r.plain) == 0 {
		if r.ended != nil {
			return nil, r.ended
		}
		if err := r.next(); err != nil {
			r.ended = err
		}
	}
	b := r.plain[:min(most, len(r.plain))]
	r.plain = r.plain[len(b):]
	return b, nil
}

// Read copies decrypted bytes.
func (r *records) Read(p []byte) (int, error) {
	b, err := r.Chunk(len(p))
	return copy(p, b), err
}

// Waiting reports whether Chunk returns at once.
func (r *records) Waiting() bool {
	head := r.in.peek()
	return len(r.plain) > 0 ||
		len(head) >= recordHead && len(head) >= recordHead+int(binary.BigEndian.Uint16(head[3:]))
}

// next reads and decrypts a record.
func (r *records) next() error {
	head, err := r.in.take(recordHead)
	if err != nil {
		return err
	}
	copy(r.head[:], head)
	length := int(binary.BigEndian.Uint16(r.head[3:]))
	if r.head[0] != typeData || length > recordLen+256 {
		return errRecord
	}
	body, err := r.in.take(length)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	plain, err := r.reads.aead.Open(body[:0], r.reads.next(), body, r.head[:])
	if err != nil {
		return errRecord
	}
	plain = bytes.TrimRight(plain, "\x00") // padding
	if len(plain) == 0 || len(plain) > recordLen+1 {
		return errRecord
	}
	kind, plain := plain[len(plain)-1], plain[:len(plain)-1]
	switch kind {
	case typeData:
		r.plain = plain
		return nil
	case typeAlert:
		if len(plain) == 2 && plain[1] == 0 {
			return io.EOF
		}
		return fmt.Errorf("node: tls: the other end reports alert %x", plain)
	case typeHandshake:
		return r.message(plain)
	default:
		return errRecord
	}
}

// message handles what may follow a handshake: tickets, which no peer needs, and new keys.
func (r *records) message(m []byte) error {
	switch {
	case len(m) > 0 && m[0] == newTicket:
		return nil
	case len(m) == 5 && m[0] == keyUpdate && m[4] <= 1:
		if m[4] == 1 {
			r.rekey.Store(true)
		}
		return r.reads.update()
	default:
		return errRecord
	}
}

// Write encrypts and sends p.
func (r *records) Write(p []byte) (int, error) {
	if err := r.WriteBoth(nil, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteBoth encrypts and sends first and second as one message, in full records.
func (r *records) WriteBoth(first, second []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.rekey.Swap(false) || r.writes.seq >= r.mostOfKey {
		if err := r.renew(); err != nil {
			return err
		}
	}
	for len(first)+len(second) > 0 {
		at := r.begin()
		n := min(len(first), recordLen)
		r.out, first = append(r.out, first[:n]...), first[n:]
		n = min(len(second), recordLen-n)
		r.out, second = append(r.out, second[:n]...), second[n:]
		r.seal(at, typeData)
		if len(r.out)+recordLen+recordMore > cap(r.out) {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

// together is how many bytes one system call passes to the socket: the records of a full message.
const together = 5 * (recordLen + recordMore)

// begin makes room for the header of a record and returns its place.
func (r *records) begin() int {
	if r.out == nil {
		r.out = make([]byte, 0, together)
	}
	r.out = append(r.out, typeData, 3, 3, 0, 0)
	return len(r.out) - recordHead
}

// seal encrypts, in place, what follows the header at a place.
func (r *records) seal(at int, kind byte) {
	r.out = append(r.out, kind)
	head, plain := r.out[at:at+recordHead], r.out[at+recordHead:]
	binary.BigEndian.PutUint16(head[3:], uint16(len(plain)+r.writes.aead.Overhead()))
	sealed := r.writes.aead.Seal(plain[:0], r.writes.next(), plain, head)
	r.out = r.out[:at+recordHead+len(sealed)]
}

func (r *records) flush() error {
	if r.broken == nil && len(r.out) > 0 {
		_, r.broken = r.Conn.Write(r.out)
	}
	r.out = r.out[:0]
	return r.broken
}

// renew tells the other end that new keys follow, and takes them.
func (r *records) renew() error {
	at := r.begin()
	r.out = append(r.out, keyUpdate, 0, 0, 1, 0)
	r.seal(at, typeHandshake)
	if err := r.flush(); err != nil {
		return err
	}
	return r.writes.update()
}

// farewell bounds the last record, which tells the other end that the connection was not cut off.
const farewell = 5 * time.Second

// Close tells the other end, unless a write is under way, and closes the connection.
func (r *records) Close() error {
	if r.writing.TryLock() {
		defer r.writing.Unlock()
		r.Conn.SetWriteDeadline(time.Now().Add(farewell))
		at := r.begin()
		r.out = append(r.out, 1, 0) // a warning: close_notify
		r.seal(at, typeAlert)
		r.flush()
	}
	return r.Conn.Close()
}
