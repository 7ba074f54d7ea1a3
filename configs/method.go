package configs

import "fmt"

// A Method names what a run does, for people. Every table, figure and list takes its words.
type Method struct {
	Algorithm string // as in papers: D-PSGD; all-reduce, ring
	Messages  string // their content: full precision, 8-bit Moniqua, 4-bit qsgd, sign
}

// String returns the name in one line: D-PSGD, 8-bit Moniqua.
func (m Method) String() string { return m.Algorithm + ", " + m.Messages }

// Method names algorithm, codec and compressor.
func (c *Config) Method() Method {
	a, row := c.Algorithm, c.row()
	m := Method{Algorithm: row.Text.Title, Messages: "full precision"}
	if row.Form != "" {
		m.Algorithm = "all-reduce, " + m.Algorithm
	}
	sized := func(bits int, name string) string {
		if k := a.Controller; k.Name != "fix" {
			return fmt.Sprintf("%d- to %d-bit %s, chosen by %s", k.MinBits, k.MaxBits, name, k.Name)
		}
		return fmt.Sprintf("%d-bit %s", bits, name)
	}
	switch {
	case row.Compresses() && c.compressor().Has("levels") && a.Compressor.Levels > 0:
		m.Messages = fmt.Sprintf("%d-level %s", a.Compressor.Levels, a.Compressor.Name)
	case row.Compresses() && c.compressor().Has("bits"):
		m.Messages = sized(a.Compressor.Bits, a.Compressor.Name)
	case row.Compresses():
		m.Messages = a.Compressor.Name
	case !c.modulo():
	case a.Levels > 0:
		m.Messages = fmt.Sprintf("%d-level Moniqua", a.Levels)
	default:
		m.Messages = sized(a.Bits, "Moniqua")
	}
	return m
}
