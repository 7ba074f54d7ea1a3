package human

import "testing"

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 61_060_000: "61.06 MB", 2e12: "2 TB"} {
		if got := Size(bytes); got != want {
			t.Errorf("Size(%d) = %s, want %s", bytes, got, want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	v := 0.123456
	for got, want := range map[string]string{
		Number(&v): "0.1235", Places(&v): "0.1235", Number(nil): "-", Places(nil): "-",
		Seconds(0): "0 s", Seconds(2.5e-6): "2.5 µs", Seconds(0.0256): "25.6 ms", Seconds(99): "99 s",
		Seconds(8000.4): "8000 s",
		Percent(0.0123): "1.2 %", Percent(0.123): "12 %", Percent(0): "0 %",
		Rate(1e9): "1 Gbit/s", Rate(2.5e6): "2.5 Mbit/s", Rate(800): "0.8 kbit/s",
		Digits(0.05, 3): "0.0500", Decimal(12345.4, 12.3, 2): "12345", Beside(0.003, 13): "0.0030", Digits(2e8, 3): "2e+08",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
