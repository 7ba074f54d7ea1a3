package machine

import (
	"os"
	"testing"
)

func TestAUserWhoSetsGOMAXPROCSKeepsIt(t *testing.T) {
	env := []string{"A=1"}
	t.Setenv("GOMAXPROCS", "7")
	if got := ShareProcessors(env, 4); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	os.Unsetenv("GOMAXPROCS")
	got := ShareProcessors(env, 1<<20)
	if len(got) != 2 || got[1] != "GOMAXPROCS=1" && got[1] != "GOMAXPROCS=2" {
		t.Errorf("with more peers than cores: %q", got)
	}
}
