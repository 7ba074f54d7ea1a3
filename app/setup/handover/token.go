package handover

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// KeyLen is the length of the random key of a token in bytes.
const KeyLen = 16

// mostAddrs bounds the addresses of a token.
const mostAddrs = 4

// A Token is what the machine that invites gives to the others. It holds a key, so it is a secret while it is valid.
type Token struct {
	Expires time.Time    // in whole seconds
	Key     [KeyLen]byte // random; proves that a machine knows the token, and is never sent
	Inviter peer.ID      // of an Ed25519 key; the machine that invites proves it
	Port    uint16
	Addrs   []netip.Addr // 1 to mostAddrs, without zones
}

// The layout, big-endian: form u8, expiry in Unix seconds u32, key, public key of the inviter, port u16. Then come the
// number of addresses u8 and, per address, its length u8 (4 or 16) and its bytes. The beginning of the SHA-256 of all
// that ends a token.
const (
	form     = 1
	keyLen   = 32 // of an Ed25519 public key
	sumLen   = 4
	fixedLen = 1 + 4 + KeyLen + keyLen + 2 + 1
	mostLen  = fixedLen + mostAddrs*(1+16) + sumLen
	leastLen = fixedLen + (1 + 4) + sumLen
)

// alphabet is that of Crockford's base 32: letters and digits without I, L, O and U, which people confuse with others.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var encoding = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// group is how many characters of a token stand together.
const group = 6

// An tokenError says that a text is no token.
type tokenError struct{ Problem string }

func (e *tokenError) Error() string { return "token: " + e.Problem }

// Hint says what to do.
func (e *tokenError) Hint() string {
	return "copy the whole token from the machine that printed it; capitals, dashes and spaces do not matter"
}

func wrong(format string, args ...any) error { return &tokenError{fmt.Sprintf(format, args...)} }

// Marshal returns the text of t, in groups of 6 characters. It fails if a field of t is out of its range.
func (t Token) Marshal() (string, error) {
	public, err := t.Inviter.ExtractPublicKey()
	if err != nil {
		return "", fmt.Errorf("token: the inviter: %w", err)
	}
	raw, err := public.Raw()
	if err != nil || len(raw) != keyLen {
		return "", fmt.Errorf("token: the inviter %v has no Ed25519 key", t.Inviter)
	}
	at := t.Expires.Unix()
	if at < 0 || at > 1<<32-1 || len(t.Addrs) == 0 || len(t.Addrs) > mostAddrs {
		return "", fmt.Errorf("token: %d addresses until %v: want 1 to %d, and a time before 2106", len(t.Addrs), t.Expires,
			mostAddrs)
	}
	out := binary.BigEndian.AppendUint32([]byte{form}, uint32(at))
	out = append(append(out, t.Key[:]...), raw...)
	out = append(binary.BigEndian.AppendUint16(out, t.Port), byte(len(t.Addrs)))
	for _, a := range t.Addrs {
		bytes := a.WithZone("").AsSlice()
		out = append(append(out, byte(len(bytes))), bytes...)
	}
	out = append(out, checksum(out)...)
	return grouped(encoding.EncodeToString(out)), nil
}

func checksum(text []byte) []byte {
	sum := sha256.Sum256(append([]byte("gossiptrainer token "), text...))
	return sum[:sumLen]
}

func grouped(text string) string {
	var groups []string
	for len(text) > group {
		groups, text = append(groups, text[:group]), text[group:]
	}
	return strings.Join(append(groups, text), "-")
}

// ParseToken reads the text of a token. Capitals, dashes and spaces do not matter. Its errors are of type *tokenError.
func ParseToken(text string) (Token, error) {
	plain, err := normalise(text)
	if err != nil {
		return Token{}, err
	}
	most := encoding.EncodedLen(mostLen)
	if least := encoding.EncodedLen(leastLen); len(plain) < least || len(plain) > most {
		return Token{}, wrong("it has %d characters without dashes, and a token has %d to %d: a part is missing or too much",
			len(plain), least, most)
	}
	raw, err := encoding.DecodeString(plain)
	if err != nil || encoding.EncodeToString(raw) != plain {
		return Token{}, errTypo
	}
	body := raw[:len(raw)-sumLen]
	if string(raw[len(body):]) != string(checksum(body)) {
		return Token{}, errTypo
	}
	return decode(body)
}

// errTypo says that the checksum of a token does not fit.
var errTypo = wrong("a character is mistyped or missing: its checksum does not fit")

// normalise removes separators and replaces letters that look like those of the alphabet.
func normalise(text string) (string, error) {
	const longest = 4096
	if len(text) > longest {
		return "", wrong("%d bytes are no token", len(text))
	}
	var b strings.Builder
	for i, r := range []rune(strings.ToUpper(text)) {
		switch {
		case strings.ContainsRune("- \t\r\n", r):
		case r == 'O':
			b.WriteByte('0')
		case r == 'I' || r == 'L':
			b.WriteByte('1')
		case strings.ContainsRune(alphabet, r):
			b.WriteRune(r)
		default:
			return "", wrong("character %d, %q, does not occur in tokens", i+1, r)
		}
	}
	return b.String(), nil
}

// decode reads a body whose checksum fits.
func decode(b []byte) (Token, error) {
	if len(b) < fixedLen {
		return Token{}, errTypo
	}
	if b[0] != form {
		return Token{}, wrong("it has form %d, and this program reads form %d: install the same version of the program on "+
			"both machines", b[0], form)
	}
	t := Token{Expires: time.Unix(int64(binary.BigEndian.Uint32(b[1:])), 0)}
	b = b[5:]
	b = b[copy(t.Key[:], b):]
	public, err := crypto.UnmarshalEd25519PublicKey(b[:keyLen])
	if err == nil {
		t.Inviter, err = peer.IDFromPublicKey(public)
	}
	if err != nil {
		return Token{}, wrong("it names no machine: %v", err)
	}
	t.Port = binary.BigEndian.Uint16(b[keyLen:])
	count, rest := int(b[keyLen+2]), b[keyLen+3:]
	if count < 1 || count > mostAddrs {
		return Token{}, wrong("it has %d addresses: want 1 to %d", count, mostAddrs)
	}
	for range count {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return Token{}, wrong("an address is cut")
		}
		a, ok := netip.AddrFromSlice(rest[1 : 1+rest[0]])
		if !ok {
			return Token{}, wrong("an address has %d bytes: want 4 or 16", rest[0])
		}
		t.Addrs, rest = append(t.Addrs, a), rest[1+rest[0]:]
	}
	if len(rest) > 0 {
		return Token{}, wrong("%d bytes follow the last address", len(rest))
	}
	return t, nil
}
