package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestAConfusionHasItsNumbers(t *testing.T) {
	var b bytes.Buffer
	if err := WriteConfusion(&b, []string{"cat", "a long name of a class"}, [][]int{{17, 3}, {0, 23}}, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">cat<", ">a long na.<", ">17<", ">3<", ">23<", "class by the model"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	if strings.Contains(b.String(), ">0<") {
		t.Error("a cell without rows has a number")
	}
	for _, format := range []string{"gif", ""} {
		if err := WriteConfusion(&b, []string{"a"}, [][]int{{1}}, format); err == nil {
			t.Errorf("format %q: no error", format)
		}
	}
	if err := WriteConfusion(&b, nil, nil, "svg"); err == nil {
		t.Error("no classes: no error")
	}
}
