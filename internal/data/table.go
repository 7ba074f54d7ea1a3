package data

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Table writes how many samples of every label each worker has, as text.
func (p Partition) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	numbers := make([]string, len(p.Classes))
	for c := range numbers {
		numbers[c] = strconv.Itoa(c)
	}
	line(t, "worker", append(slices.Clone(numbers), "total"))
	all := make([]int, len(p.Classes))
	for i, count := range p.Counts {
		counts(t, strconv.Itoa(i), count)
		for c, n := range count {
			all[c] += n
		}
	}
	counts(t, "all", all)
	if slices.Max(p.Unused) > 0 {
		counts(t, "unused", p.Unused)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if slices.Equal(numbers, p.Classes) {
		return nil
	}
	for c, name := range p.Classes {
		sep := ", "
		if c == 0 {
			sep = "labels: "
		}
		if _, err := fmt.Fprintf(w, "%s%d %s", sep, c, name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// counts writes a line of numbers and their sum.
func counts(t io.Writer, name string, count []int) {
	total := 0
	cells := make([]string, 0, len(count)+1)
	for _, n := range count {
		cells = append(cells, strconv.Itoa(n))
		total += n
	}
	line(t, name, append(cells, strconv.Itoa(total)))
}

// line writes one line of cells; the tab writer keeps errors until Flush.
func line(t io.Writer, name string, cells []string) {
	fmt.Fprint(t, name, "\t")
	for _, cell := range cells {
		fmt.Fprint(t, cell, "\t")
	}
	fmt.Fprintln(t)
}
