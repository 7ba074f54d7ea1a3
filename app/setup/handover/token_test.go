package handover

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/identity"
)

func example(t testing.TB, addrs ...string) Token {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	out := Token{Expires: time.Unix(1_790_000_000, 0), Key: [KeyLen]byte{1, 2, 3, 255}, Inviter: who.Peer(), Port: 40123}
	for _, a := range addrs {
		out.Addrs = append(out.Addrs, netip.MustParseAddr(a))
	}
	return out
}

func text(t testing.TB, of Token) string {
	t.Helper()
	out, err := of.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTokensAreReadBack(t *testing.T) {
	for _, addrs := range [][]string{
		{"10.77.0.1"}, {"192.168.1.10", "fd00::1"}, {"::1", "1.2.3.4", "5.6.7.8", "9.10.11.12"},
	} {
		want := example(t, addrs...)
		written := text(t, want)
		careless := strings.ToLower(strings.ReplaceAll(written, "-", " "))
		careless = strings.NewReplacer("0", "o", "1", "l").Replace(careless)
		for _, form := range []string{written, careless, "\t" + strings.ReplaceAll(written, "-", "") + "\n"} {
			got, err := ParseToken(form)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %+v, error %v, want %+v", form, got, err, want)
			}
		}
	}
	if length := len(text(t, example(t, "10.77.0.1"))); length > 125 {
		t.Errorf("a token of one address has %d characters", length)
	}
}

// Every wrong character, two exchanged ones, and a missing or an additional one are noticed.
func TestTyposAreNoticed(t *testing.T) {
	plain := strings.ReplaceAll(text(t, example(t, "10.77.0.1")), "-", "")
	check := func(what, typed string) {
		t.Helper()
		if _, err := ParseToken(typed); err == nil {
			t.Errorf("%s is not noticed", what)
		} else if wrong, ok := errors.AsType[*tokenError](err); !ok || wrong.Hint() == "" {
			t.Errorf("%s: error %v", what, err)
		}
	}
	for i := range plain {
		for _, r := range alphabet {
			if byte(r) != plain[i] {
				check("another character", plain[:i]+string(r)+plain[i+1:])
			}
		}
		check("a missing character", plain[:i]+plain[i+1:])
		check("a character too much", plain[:i]+"7"+plain[i:])
		if i > 0 && plain[i] != plain[i-1] {
			swapped := []byte(plain)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			check("two exchanged characters", string(swapped))
		}
	}
}

func TestErrorsNameTheTrouble(t *testing.T) {
	good := example(t, "10.77.0.1")
	written := text(t, good)
	for typed, want := range map[string]string{
		"":                               "it has 0 characters without dashes",
		written[:50]:                     "a part is missing",
		written + written:                "too much",
		"U" + written[1:]:                "character 1, 'U', does not occur in tokens",
		written[:9] + "ä" + written[10:]: "character 10, 'Ä'",
		strings.Repeat("A", 5000):        "5000 bytes are no token",
	} {
		if _, err := ParseToken(typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q", typed, err, want)
		}
	}
	body := func(change func([]byte) []byte) string {
		raw, err := encoding.DecodeString(strings.ReplaceAll(written, "-", ""))
		if err != nil {
			t.Fatal(err)
		}
		raw = change(raw[:len(raw)-sumLen])
		return encoding.EncodeToString(append(raw, checksum(raw)...))
	}
	for want, change := range map[string]func([]byte) []byte{
		"it has form 2, and this program reads form 1": func(b []byte) []byte { b[0] = 2; return b },
		"it has 0 addresses":                           func(b []byte) []byte { b[fixedLen-1] = 0; return b },
		"an address is cut":                            func(b []byte) []byte { b[fixedLen-1] = 2; return b },
		"an address has 3 bytes":                       func(b []byte) []byte { b[fixedLen] = 3; return b },
		"bytes follow":                                 func(b []byte) []byte { return append(b, 1) },
	} {
		if _, err := ParseToken(body(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestATokenOutOfRangeIsNotWritten(t *testing.T) {
	for name, change := range map[string]func(*Token){
		"no address": func(t *Token) { t.Addrs = nil },
		"five":       func(t *Token) { t.Addrs = slices.Repeat(t.Addrs, 5) },
		"too early":  func(t *Token) { t.Expires = time.Time{} },
		"no machine": func(t *Token) { t.Inviter = peer.ID("x") },
	} {
		bad := example(t, "10.77.0.1")
		change(&bad)
		if got, err := bad.Marshal(); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A text that is read as a token is written as the same token, and no text causes a panic.
func FuzzToken(f *testing.F) {
	f.Add(text(f, example(f, "10.77.0.1")))
	f.Add(text(f, example(f, "fd00::1", "127.0.0.1")))
	f.Add("")
	f.Fuzz(func(t *testing.T, typed string) {
		got, err := ParseToken(typed)
		if err != nil {
			return
		}
		again, err := ParseToken(text(t, got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v, then %+v, error %v", got, again, err)
		}
	})
}

// Bodies with a fitting checksum, which random texts seldom have, cause no panic either.
func FuzzBody(f *testing.F) {
	raw, err := encoding.DecodeString(strings.ReplaceAll(text(f, example(f, "10.77.0.1")), "-", ""))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:len(raw)-sumLen])
	f.Fuzz(func(t *testing.T, body []byte) {
		if got, err := decode(body); err == nil && (len(got.Addrs) == 0 || got.Inviter == "") {
			t.Fatalf("%x: %+v", body, got)
		}
	})
}
