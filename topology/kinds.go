package topology

import (
	"fmt"
	"slices"
	"strings"
)

// families is the table, in the order in which documents list the kinds. Those with links come last.
func families() []family {
	list := family{kind: EdgeList, takes: []string{"file"}, size: largest, list: fromEdges,
		sized: "its edges are given, and belong to the same workers"}
	return slices.Concat(byRule(), drawn(), []family{list}, linked())
}

// row returns the row of a kind. The row of an unknown kind is empty.
func (k Kind) row() *family {
	all := families()
	if i := slices.IndexFunc(all, func(f family) bool { return f.kind == k }); i >= 0 {
		return &all[i]
	}
	return &family{}
}

// Kinds returns all kinds in the order in which documents list them.
func Kinds() []Kind {
	var all []Kind
	for _, f := range families() {
		all = append(all, f.kind)
	}
	return all
}

// Static reports whether graphs of the kind are undirected and the same in every exchange. Some algorithms need that.
func (k Kind) Static() bool { return k.row().links == nil }

// Sized returns why the kind has no graph for every number of workers, "" if it has.
func (k Kind) Sized() string { return k.row().sized }

// Endless reports whether the matrices of the kind never repeat: each exchange draws its own.
func (k Kind) Endless() bool { return k.row().endless }

// Closes reports whether graphs of the kind close the gaps that lost workers leave, see Graph.Closing.
func (k Kind) Closes() bool { return k.row().closes }

// Takes reports whether a setting beside the number of workers has an effect: rows, cols, file, degree or chance.
func (k Kind) Takes(setting string) bool { return slices.Contains(k.row().takes, setting) }

// unknown refuses a kind without a row.
func (k Kind) unknown() error {
	if k.row().kind == k && k != "" {
		return nil
	}
	var names []string
	for _, known := range Kinds() {
		names = append(names, string(known))
	}
	return fmt.Errorf("unknown kind %q, want one of %s", k, strings.Join(names, ", "))
}
