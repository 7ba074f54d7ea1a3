package machine

import (
	"os"
	"runtime"
	"strconv"
)

// ShareProcessors gives a peer its share of the cores: one for the gradient at
// least, and one more so that frames move while it is computed. What the user
// has set stays.
func ShareProcessors(env []string, peers int) []string {
	if os.Getenv("GOMAXPROCS") != "" {
		return env
	}
	share := max(1, runtime.NumCPU()/peers) + 1
	return append(env, "GOMAXPROCS="+strconv.Itoa(min(share, runtime.NumCPU())))
}
