// Package cost describes the processor time of a worker's work, and shares processors among jobs.
//
// It reads no clock: package simulate measures the costs of a machine, and package sim spends them in virtual time.
package cost

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Costs are the processor times of a worker's work. The zero value costs nothing.
type Costs struct {
	Gradient time.Duration // of one gradient
	Round    time.Duration // of the step along the gradient, and of all else that comes once in a round
	Encode   time.Duration // of making a megabyte of messages, entropy coding included
	Mix      time.Duration // of checking, recovering and mixing a megabyte of messages
	Repair   time.Duration // of making or using a megabyte of repairs
	Frame    time.Duration // of a frame, at each end of its link
	Link     time.Duration // of a megabyte on the stream, at each end of its link
	// Late is the time between the arrival of a frame and the moment at which its receiver wakes up, without processor
	// time. A link without limits has none: its receiver is rarely asleep.
	Late time.Duration
}

// Coding reports whether anything costs time beside gradients.
func (c Costs) Coding() bool { return c != Costs{Gradient: c.Gradient} }

// Times returns the costs of processors that take factor times as long. Late is not processor time.
func (c Costs) Times(factor float64) Costs {
	late := c.Late
	for _, d := range c.fields() {
		*d = time.Duration(factor * float64(*d))
	}
	c.Late = late
	return c
}

// Megabytes returns the time for bytes if a megabyte, 10⁶ bytes, takes per.
func Megabytes(per time.Duration, bytes int) time.Duration {
	return time.Duration(int64(per) * int64(bytes) / 1e6)
}

// A Compute says where costs come from.
type Compute struct {
	Costs
	Measured bool // all are measured before the run
}

// Given reports whether the time of a gradient is known, or everything is to be measured.
func (c Compute) Given() bool { return c != Compute{} }

// names returns the words of a text, in its order.
func names() []string {
	return []string{"gradient", "round", "encode", "mix", "repair", "frame", "link", "late"}
}

func (c *Costs) fields() []*time.Duration {
	return []*time.Duration{&c.Gradient, &c.Round, &c.Encode, &c.Mix, &c.Repair, &c.Frame, &c.Link, &c.Late}
}

// measured is the text that asks for a measurement.
const measured = "measured"

// most bounds a cost, so that sums of costs stay far from overflow.
const most = time.Hour

// Parse reads the form of String: empty, the word measured, the time of a gradient like 20ms, or costs like
// "gradient=1.5ms encode=3ms mix=2ms repair=4ms frame=20us link=1ms". A cost that is left out is 0.
func Parse(text string) (Compute, error) {
	switch text {
	case "":
		return Compute{}, nil
	case measured:
		return Compute{Measured: true}, nil
	}
	var c Compute
	if d, err := time.ParseDuration(text); err == nil {
		c.Gradient = d
		return c, within(text, d)
	}
	fields, given := c.fields(), map[string]bool{}
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		at := slices.Index(names(), name)
		d, err := time.ParseDuration(value)
		if !ok || at < 0 || err != nil {
			return Compute{}, fmt.Errorf("%q is not measured, a time like 20ms, or a cost like gradient=20ms: costs are %s",
				word, strings.Join(names(), ", "))
		}
		if given[name] {
			return Compute{}, fmt.Errorf("%s is given twice", name)
		}
		if err := within(word, d); err != nil {
			return Compute{}, err
		}
		given[name] = true
		*fields[at] = d
	}
	if c.Gradient == 0 {
		return Compute{}, fmt.Errorf("%q lacks the time of a gradient: gradient=20ms", text)
	}
	return c, nil
}

func within(text string, d time.Duration) error {
	if d <= 0 || d > most {
		return fmt.Errorf("%q must be above 0 and at most %v", text, most)
	}
	return nil
}

// Set reads the value of a flag.
func (c *Compute) Set(text string) (err error) {
	*c, err = Parse(text)
	return err
}

// Type names the value of a flag.
func (*Compute) Type() string { return "string" }

// String returns a text that Parse reads.
func (c Compute) String() string {
	switch {
	case c.Measured:
		return measured
	case !c.Given():
		return ""
	case !c.Coding():
		return c.Gradient.String()
	}
	return c.Costs.String()
}

// String returns a text that Parse reads, with all costs.
func (c Costs) String() string {
	var words []string
	for i, d := range c.fields() {
		if *d > 0 {
			words = append(words, names()[i]+"="+d.String())
		}
	}
	return strings.Join(words, " ")
}
