package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// A reserve leaves no name in its folder, and its room is free again at the end.
func TestAReserveLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	r := NewReserve(dir, 1<<20)
	for range 2 { // the second call changes nothing
		if err := r.Take(); err != nil {
			t.Fatal(err)
		}
	}
	r.Release()
	r.Release()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := r.Take(); err != nil {
		t.Errorf("it cannot be taken again: %v", err)
	}
	r.Release()
}

func TestNothingIsSetAsideInAFolderThatIsNotThere(t *testing.T) {
	if err := NewReserve(filepath.Join(t.TempDir(), "missing"), 1).Take(); err == nil {
		t.Error("no error")
	}
	var none *Reserve
	if err := none.Take(); err != nil {
		t.Error(err)
	}
	none.Release()
}
