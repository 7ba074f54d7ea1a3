package screen

import (
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// An Output is a stream to a terminal, a file or a pipe. Where the locale is not UTF-8, it writes
// our signs in ASCII. This is the only place that does so: the rest of the program writes UTF-8.
//
// Letters that have no entry in inASCII come from the user, as in the name of a folder. They pass
// unchanged, so that a name that is copied from the screen still names the same thing.
type Output struct {
	File  *os.File // for text that is UTF-8 everywhere, such as JSON
	ascii bool

	mu   sync.Mutex
	rest []byte // first bytes of a character that the last Write cut
	open bool   // the last line is of a TaskProgress in place, and has no end
}

// NewOutput returns the stream of a file for the locale of this process.
func NewOutput(f *os.File) *Output { return &Output{File: f, ascii: !speaksUTF8(os.Getenv)} }

// speaksUTF8 reports whether the locale that the environment names is UTF-8. Without a name it is
// POSIX, which is ASCII; Windows has no such variables and always takes UTF-8.
func speaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			locale = strings.ToLower(locale)
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return runtime.GOOS == "windows"
}

// Write implements io.Writer. It erases the line of a TaskProgress in place.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		o.open = false
		if _, err := o.write([]byte(erased)); err != nil {
			return 0, err
		}
	}
	return o.write(p)
}

// erased empties the last line.
const erased = "\r\x1b[K"

// replace writes a line without an end in place of the last one.
func (o *Output) replace(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = true
	_, _ = o.write([]byte(erased + line)) // a line that is lost is no harm
}

// close ends the line of a TaskProgress, if there is one.
func (o *Output) close(end string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		o.open = false
		_, _ = o.write([]byte(end))
	}
}

// write writes text. Where the locale is not UTF-8, the first bytes of a character wait for the others.
func (o *Output) write(p []byte) (int, error) {
	if !o.ascii {
		return o.File.Write(p)
	}
	text := append(o.rest, p...)
	whole := len(text) - cut(text)
	if _, err := inASCII.WriteString(o.File, string(text[:whole])); err != nil {
		return 0, err
	}
	o.rest = append(o.rest[:0], text[whole:]...)
	return len(p), nil
}

// Width returns the columns of the terminal, 0 where the stream leads elsewhere.
func (o *Output) Width() int {
	width, _, err := term.GetSize(int(o.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Fd returns the number of the stream.
func (o *Output) Fd() uintptr { return o.File.Fd() }

// Read reads from the stream.
func (o *Output) Read(p []byte) (int, error) { return o.File.Read(p) }

// Close closes the stream.
func (o *Output) Close() error { return o.File.Close() }

// cut returns how many bytes at the end of text begin a character that is not whole.
func cut(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Look returns the width in columns of what w leads to, and whether it shows colours: 80 and false for all but a
// terminal.
func Look(w io.Writer) (width int, colours bool) {
	o, ok := w.(*Output)
	if !ok {
		return usualWidth, false
	}
	width, _, err := term.GetSize(int(o.Fd()))
	if err != nil || width < 1 {
		return usualWidth, false
	}
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const usualWidth = 80

// inASCII replaces every sign beyond ASCII that this program writes, and those of its presets.
// Signs of tables keep their width.
var inASCII = strings.NewReplacer(
	"³¹", "^31", "³", "3", "¹", "1", "\u00a0", " ",
	"▁", ".", "▂", ":", "▃", "-", "▄", "=", "▅", "+", "▆", "*", "▇", "%", "█", "#",
	"─", "-", "━", "=", "│", "|", "┘", "+", "╲", "\\", "●", "o", "·", ".",
	"²", "2", "×", "x", "±", "+-", "−", "-", "–", "-", "≤", "<=", "≥", ">=", "…", "...", "µ", "u",
	"α", "alpha", "φ", "phi", "θ", "theta", "γ", "gamma", "δ", "delta", "λ", "lambda", "ₙ", "_n", "ρ", "rho", "Ø", "O",
	"ω", "omega", "₁", "_1", "₂", "_2", "⌊", "[", "⌋", "]", "–", "-", "→", ">",
)
