package simulate

import (
	"strings"
	"testing"
)

// A checkpoint of a program that counted bytes of the record does not say how many events to keep.
func TestCheckpointsOfAnotherProgramAreRefused(t *testing.T) {
	var k kept
	err := k.parse([]byte(`{"compute_ns":1,"round":4,"began":[4],"record":65776,"wall_ns":1}`))
	if err == nil || !strings.HasPrefix(err.Error(), "it is of another program: ") ||
		!strings.HasSuffix(err.Error(), ": remove it to start again") {
		t.Errorf("error %v", err)
	}
	if err := k.parse([]byte(`{"compute_ns":1,"round":4,"began":[4],"events":12,"wall_ns":1}`)); err != nil || k.Events != 12 {
		t.Errorf("%d events, error %v", k.Events, err)
	}
}
