package configs

import (
	"strings"
	"testing"
)

func TestSizesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Size{"auto": AutoSize, "64MB": 64e6, "1.5GB": 1.5e9, "500kB": 5e5, "2TB": 2e12} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %d, error %v", text, s, err)
		}
		if got, err := s.MarshalText(); err != nil || string(got) != text {
			t.Errorf("%d is written %s, error %v, want %s", s, got, err, text)
		}
	}
	for _, text := range []string{"", "64", "0MB", "-1MB", "64 MB", "64mb", "AUTO", "1e9MB"} {
		if err := new(Size).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "a size like 64MB") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
