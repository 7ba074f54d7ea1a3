package identity

import (
	"fmt"
	"math"
	"strings"
)

// secretBits is the least strength of a join secret. A stranger that answers a peer learns an HMAC keyed with the
// secret, with which it can test guesses on its own machines, as many as it likes.
const secretBits = 128

// A WeakError says why a text is no join secret.
type WeakError struct{ Why string }

func (e *WeakError) Error() string {
	return fmt.Sprintf("too easy to guess, even offline: %s; a join secret has %d random bits, such as 32 hexadecimal "+
		"digits", e.Why, secretBits)
}

// Hint says how to make one.
func (e *WeakError) Hint() string { return "peer id secret FILE, or openssl rand -hex 32, makes one" }

// CheckSecret returns a *WeakError for a text that is too easy to guess for a join secret, nil if it may be random. No
// program can tell that it is: the check finds texts that are too short, repeat themselves, follow the alphabet or
// consist of words.
func CheckSecret(secret string) error {
	text := strings.TrimRight(secret, "=") // base64 fills up with it
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return &WeakError{"it has spaces or other characters than letters, digits and signs"}
	}
	each, hex := bitsPerCharacter(text)
	if bits := int(each * float64(len(text))); bits < secretBits {
		return &WeakError{fmt.Sprintf("it holds %d bits at most", bits)}
	}
	switch {
	case repeats(text):
		return &WeakError{"it repeats itself"}
	case follows(text):
		return &WeakError{"it follows the alphabet, the digits or the keyboard"}
	case !hex && words(text):
		return &WeakError{"it looks like words"}
	}
	return nil
}

// bitsPerCharacter returns the most that a character of a random text can hold, by the alphabet that it seems to use,
// and whether that is hexadecimal.
func bitsPerCharacter(text string) (bits float64, hex bool) {
	without := func(set string) bool { return !strings.ContainsAny(text, set) }
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	switch {
	case strings.Trim(text, digits) == "":
		return math.Log2(10), false
	case strings.Trim(text, digits+"abcdef") == "", strings.Trim(text, digits+"ABCDEF") == "":
		return 4, true
	case without(lower), without(upper):
		return 5, false // base32
	}
	return 6, false // base64
}

// repeats reports whether more than two fifths of the groups of three characters occur again.
func repeats(text string) bool {
	seen := make(map[string]bool)
	for i := range len(text) - 2 {
		seen[text[i:i+3]] = true
	}
	return 5*len(seen) < 3*(len(text)-2)
}

// follows reports whether two thirds of the characters are equal or next to the one before, in the alphabet or on the
// keyboard.
func follows(text string) bool {
	const rows = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm"
	steps, text := 0, strings.ToLower(text)
	for i := range len(text) - 1 {
		a, b := text[i:i+1], text[i+1:i+2]
		if a == b || strings.Contains(rows, a+b) || strings.Contains(rows, b+a) {
			steps++
		}
	}
	return 3*steps > 2*(len(text)-1)
}

// words reports whether the pairs of neighbouring letters are rather those of words than of chance. Each pair adds the
// logarithm of a likelihood ratio, in bits, for three observations. It is one of the 40 most frequent pairs of English;
// it has a vowel and a consonant; in mixed case its second letter is small.
func words(text string) bool {
	const frequent = "th he in er an re on at en nd ti es or te of ed is it al ar " +
		"st to nt ng se ha as ou io le ve co me de hi ri ro ic ne ea"
	const most = 10 // bits: at most one random text of 1024 has more
	lower, evidence := strings.ToLower(text), 0.0
	mixed := lower != text && strings.ToUpper(text) != text
	observe := func(seen bool, inWords, random float64) {
		if !seen {
			inWords, random = 1-inWords, 1-random
		}
		evidence += math.Log2(inWords / random)
	}
	vowel := func(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }
	for i := range len(text) - 1 {
		pair := lower[i : i+2]
		if strings.Trim(pair, "abcdefghijklmnopqrstuvwxyz") != "" {
			continue
		}
		observe(strings.Contains(frequent, pair), 0.48, 0.06) // about the shares of pairs in words, and in all pairs
		observe(vowel(pair[0]) != vowel(pair[1]), 0.66, 0.36)
		if mixed {
			observe(text[i+1] == lower[i+1], 0.88, 0.5)
		}
	}
	return evidence > most
}
