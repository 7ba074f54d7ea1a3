package docs

import (
	"fmt"
	"slices"
	"testing"

	"gossiptrainer/algos"
)

// The examples of pieces are those of a codec whose pieces have this many coordinates.
const pieceLen = 3

// piece checks the example of a piece, and that of its repair.
func piece(number int) decoder {
	return func(t *testing.T, d document, name string) {
		sender, receiver := codec(0), codec(1)
		sender.Piece, receiver.Piece = pieceLen, pieceLen
		var parcels [][]byte
		for p := range sender.Pieces(len(sent)) {
			parcel, err := sender.EncodePiece(nil, round, p, sent)
			if err != nil {
				t.Fatal(err)
			}
			parcels = append(parcels, parcel)
		}
		same(t, name, parcels[number], d.bytes(t, name))
		made, _ := sender.AppendRepair(nil, round, number, nil)
		mending := d.bytes(t, fmt.Sprintf("repair-%d", number))
		same(t, "its repair", made, mending)

		x := slices.Clone(far)
		in := []algos.Message{{From: 0, Weight: 0.5, Payload: parcels[number]}}
		wrong := receiver.CheckPiece(round, number, x, in) != nil
		equal(t, "the piece is wrong", wrong, number == 0)
		in[0].Repair = mending
		if err := receiver.CheckPiece(round, number, x, in); err != nil {
			t.Fatal(err)
		}
	}
}

// mending is the decoder of repairs, which piece checks.
func mending(*testing.T, document, string) {}
