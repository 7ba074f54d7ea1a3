// Package proptest makes property tests draw the same examples every time: a change
// is judged by what it does, not by what was drawn. Tests of a package that uses
// rapid import it for that alone. -rapid.seed=0 draws others, as .ci/nightly does,
// many more of them.
package proptest

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

var _ = flag.Set("rapid.seed", "1")
