package shards

import (
	"encoding/json"
	"testing"

	"gossiptrainer/internal/data"
)

func glyphs(t *testing.T) data.Info {
	t.Helper()
	source, err := data.Open("glyphs", "")
	if err != nil {
		t.Fatal(err)
	}
	return source.Info
}

// Indices that begin elsewhere are other values, and another scaling gives other numbers.
func TestMachinesCompareHowValuesAreRead(t *testing.T) {
	zero, one := 0, 1
	said := map[string]bool{}
	for _, change := range []func(*data.Info){
		func(*data.Info) {}, func(i *data.Info) { i.Table.First = &zero }, func(i *data.Info) { i.Table.First = &one },
		func(i *data.Info) { i.Norm = nil }, func(i *data.Info) { i.Pixels = false },
	} {
		var h held
		info := glyphs(t)
		change(&info)
		h.describe(info)
		text, err := json.Marshal(h)
		if err != nil || said[string(text)] {
			t.Errorf("%s, error %v: want other words for other data", text, err)
		}
		said[string(text)] = true
	}
}

// Many names are compared by their hash.
func TestManyColumnsAreCompared(t *testing.T) {
	of := func(last string) held {
		var h held
		info := glyphs(t)
		for range 3000 {
			info.Table.Columns = append(info.Table.Columns, "a column")
		}
		info.Table.Columns = append(info.Table.Columns, last)
		h.describe(info)
		return h
	}
	one, other := of("x"), of("y")
	if one.Columns == "" || one.Columns == other.Columns || one.Columns != of("x").Columns {
		t.Errorf("hashes %q and %q, want two that differ", one.Columns, other.Columns)
	}
	if text, err := json.Marshal(one); err != nil || len(text) > 1<<15 {
		t.Errorf("%d bytes, error %v: want a message that peers can send", len(text), err)
	}
}
