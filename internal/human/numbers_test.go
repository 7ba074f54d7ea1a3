package human

import (
	"encoding/json"
	"os"
	"testing"
)

// The page of peer dash writes numbers by the same table.
func TestNumbersAreThoseOfThePage(t *testing.T) {
	text, err := os.ReadFile("testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table map[string][][2]any
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	write := map[string]func(v float64) string{
		"number": func(v float64) string { return Number(&v) }, "size": func(v float64) string { return Size(int64(v)) },
		"seconds": Seconds, "percent": Percent,
	}
	if len(table) != len(write) {
		t.Fatalf("%d kinds of numbers, want %d", len(table), len(write))
	}
	for kind, cases := range table {
		for _, c := range cases {
			got := Number(nil)
			if v, ok := c[0].(float64); ok {
				got = write[kind](v)
			}
			if got != c[1] {
				t.Errorf("%s %v is %q, want %q", kind, c[0], got, c[1])
			}
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	v := 0.123456
	for got, want := range map[string]string{
		Places(&v): "0.1235", Places(nil): "-",
		Rate(1e9): "1 Gbit/s", Rate(2.5e6): "2.5 Mbit/s", Rate(800): "0.8 kbit/s",
		Digits(0.05, 3): "0.0500", Decimal(12345.4, 12.3, 2): "12345", Beside(0.003, 13): "0.0030", Digits(2e8, 3): "2e+08",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
