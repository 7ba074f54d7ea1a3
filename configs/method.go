package configs

import "fmt"

// A Method names what a run does, for people. Every table, figure and list takes its words.
type Method struct {
	Algorithm string // as in papers: D-PSGD; all-reduce, ring
	Messages  string // their content: 32 bit, Moniqua of 8 bit, qsgd of 4 bit, sign
}

// String returns the name in one line: D-PSGD, Moniqua of 8 bit.
func (m Method) String() string { return m.Algorithm + ", " + m.Messages }

// Method names algorithm, codec and compressor.
func (c *Config) Method() Method {
	a, row := c.Algorithm, c.row()
	m := Method{Algorithm: row.Text.Title, Messages: "32 bit"}
	if row.Form != "" {
		m.Algorithm = "all-reduce, " + m.Algorithm
	}
	bits := func(least int) string {
		if a.Controller.Name != "fix" {
			return fmt.Sprintf(" of %d to %d bit, chosen by %s", a.Controller.MinBits, a.Controller.MaxBits, a.Controller.Name)
		}
		return fmt.Sprintf(" of %d bit", least)
	}
	switch {
	case row.Compresses() && c.compressor().Has("bits"):
		m.Messages = a.Compressor.Name + bits(a.Compressor.Bits)
	case row.Compresses():
		m.Messages = a.Compressor.Name
	case !c.modulo():
	case a.Levels > 0:
		m.Messages = fmt.Sprintf("Moniqua of %d levels", a.Levels)
	default:
		m.Messages = "Moniqua" + bits(a.Bits)
	}
	return m
}
