package chart

import "testing"

func TestLettersInPDFs(t *testing.T) {
	if got := latin("D² θ ≥"); got != "D\xb2 theta ?" {
		t.Errorf("%q", got)
	}
}
