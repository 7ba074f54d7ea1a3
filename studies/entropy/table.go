package main

import (
	"fmt"
	"runtime"
	"strings"
)

// document returns the Markdown text of all results.
func document(results []result, rounds int) string {
	var table, commands strings.Builder
	for _, r := range results {
		fmt.Fprintf(&table, "| %s | %v | %.2f | %.2f | %.2f | %.1f | %.1f |\n",
			r.name, r.coder, r.plain, r.bits, r.plain/r.bits, r.coding, r.decoding)
	}
	for _, r := range rows() {
		fmt.Fprintf(&commands, "    # %s\n    peer sim %s --set train.rounds=%d", r.name, preset, rounds)
		for _, s := range r.settings {
			fmt.Fprintf(&commands, " --set %s", s)
		}
		commands.WriteString(" --set wire.entropy=huff0\n")
	}
	return fmt.Sprintf(`# Entropy coding of real payloads

Eight peers train the network of the preset %s for %d rounds. The payloads are those of one peer from the second half of
the run, coded by each of the coders of `+"`wire.entropy`"+`.
`+"`go run ./studies/entropy -o docs/results/entropy.md`"+` makes this file again.

| payload | coder | bits per parameter, plain | coded | ratio | coding, ns | restoring, ns |
|---------|-------|--------------------------:|------:|------:|-----------:|--------------:|
%s
* Bits per parameter: without the header of a frame. A payload that no coder makes smaller is sent uncoded, and the
  ratio is 1.
* Coding, restoring: nanoseconds per parameter, one core, the best of %d tries per payload.
* θ 0.5 is fixed, far above the differences between neighbours here, so that most weights are a few steps long. Without
  it the run chooses a tight θ.

Machine: %d cores, %s/%s, %s. Times differ from run to run; bits do not.

## The same runs

%s`, preset, rounds, table.String(), tries, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), commands.String())
}
