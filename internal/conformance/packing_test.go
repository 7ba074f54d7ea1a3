package conformance

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"gossiptrainer/quant"
)

func TestConformancePacking(t *testing.T) {
	var file struct {
		Cases []struct {
			Levels  int
			Symbols []uint16
			Hex     string
		}
	}
	Load(t, "packing.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprintf("%d: %d symbols of %d levels", i, len(c.Symbols), c.Levels), func(t *testing.T) {
			packing, err := quant.NewPacking(c.Levels)
			if err != nil {
				t.Fatal(err)
			}
			packed, err := packing.Pack(nil, c.Symbols)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(packed); got != c.Hex {
				t.Errorf("packed: %s, want %s", got, c.Hex)
			}
			symbols := make([]uint16, len(c.Symbols))
			if err := packing.Unpack(symbols, packed); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(symbols, c.Symbols) {
				t.Errorf("unpacked: %v, want %v", symbols, c.Symbols)
			}
		})
	}
}
