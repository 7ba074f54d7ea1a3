// Package proptest makes property tests draw the same examples every time, so a result
// depends on the change and not on chance. Test packages that use rapid import it for this
// effect only. -rapid.seed=0 draws other examples; .ci/nightly draws many of them.
package proptest

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

var _ = flag.Set("rapid.seed", "1")
