package identity

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSecretsThatCanBeGuessedAreRefused(t *testing.T) {
	for _, secret := range []string{
		"", "change-me", "password", "hunter2", "open sesame", "secret123", "12345678", "lan.secret",
		"d41d8cd98f00b204e9800998ecf8427",             // one digit short of 128 bits
		"x4Ei9-qPz0LrU7vKb2NsW",                       // 21 characters
		"correct horse battery staple",                // words
		"correct-horse-battery-staple-and-more",       //
		"CorrectHorseBatteryStaple2026!",              //
		"passwordpasswordpasswordpassword",            //
		"thisisthesecretofourteamforever",             //
		"DiesIstDasGeheimnisUnseresTeams",             //
		"hunter2hunter2hunter2hunter2hunter2",         // repeated
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",    //
		"00000000000000000000000000000000",            //
		"abababababababababababababababababab",        //
		"deadbeefdeadbeefdeadbeefdeadbeef",            //
		"0123456789abcdef0123456789abcdef",            // in order
		"abcdefghijklmnopqrstuvwxyz0123456789",        //
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij",        //
		"qwertyuiopasdfghjklzxcvbnm1234567890",        //
		"zyxwvutsrqponmlkjihgfedcba9876543210",        //
		"1234567890123456789012345678901234567890123", //
		strings.Repeat("=", 100),
	} {
		err := CheckSecret(secret)
		weak, ok := errors.AsType[*WeakError](err)
		if !ok {
			t.Errorf("%q: error %v, want that it is weak", secret, err)
			continue
		}
		if s := weak.Error() + weak.Hint(); !strings.Contains(s, "openssl rand -hex 32") ||
			secret != "" && strings.Contains(s, secret) {
			t.Errorf("%q: error %q, want the fix and not the secret", secret, s)
		}
	}
}

// Secrets of the usual programs with 128 random bits or more are taken, but for a few that look like words by chance.
func TestRandomSecretsAreTaken(t *testing.T) {
	source := rand.NewChaCha8([32]byte{})
	draw := func(bytes int) []byte {
		b := make([]byte, bytes)
		source.Read(b)
		return b
	}
	const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#%+-.:@_"
	from := func(alphabet string, length int) string {
		r, s := rand.New(source), make([]byte, length)
		for i := range s {
			s[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(s)
	}
	for _, form := range []struct {
		name string
		make func() string
		most int // refused of 5000
	}{
		{"hex, 16 bytes", func() string { return hex.EncodeToString(draw(16)) }, 0},
		{"hex, 32 bytes", func() string { return hex.EncodeToString(draw(32)) }, 0},
		{"HEX, 16 bytes", func() string { return strings.ToUpper(hex.EncodeToString(draw(16))) }, 0},
		{"39 digits", func() string { return from("0123456789", 39) }, 0},
		{"base64, 16 bytes", func() string { return base64.StdEncoding.EncodeToString(draw(16)) }, 5},
		{"base64url, 16 bytes", func() string { return base64.RawURLEncoding.EncodeToString(draw(16)) }, 5},
		{"base64, 32 bytes", func() string { return base64.StdEncoding.EncodeToString(draw(32)) }, 5},
		{"base32, 20 bytes", func() string { return base32.StdEncoding.EncodeToString(draw(20)) }, 5},
		{"base32, 16 bytes", func() string { return strings.ToLower(base32.StdEncoding.EncodeToString(draw(16))) }, 5},
		{"26 signs", func() string { return from(signs, 26) }, 5},
	} {
		refused := 0
		for range 5000 {
			if CheckSecret(form.make()) != nil {
				refused++
			}
		}
		if refused > form.most {
			t.Errorf("%s: %d of 5000 refused, want %d at most", form.name, refused, form.most)
		}
	}
}
