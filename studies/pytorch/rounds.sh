#!/bin/sh
# Writes the figures of docs/performance.md about rounds and the simulator to docs/performance/. The machine should be
# idle: link and sim measure the time that passes. With a commit as argument, it also writes the profile of a round of
# that commit, for comparison.
set -eu
cd "$(dirname "$0")/../.."
out=$PWD/docs/performance
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'git worktree remove --force "$scratch/old" 2>/dev/null || true; rm -rf "$scratch"' EXIT
export CGO_ENABLED=0

round() { # writes to $out/$1
	{
		go test ./node -run '^$' -bench 'Round/ring_of_4' -benchtime 300x -cpuprofile "$scratch/round.prof" -o "$scratch/node.test" | grep '^Benchmark'
		go tool pprof -top -nodecount 18 "$scratch/node.test" "$scratch/round.prof" 2>/dev/null | sed -n '/^Duration/p;/flat%/,$p'
	} >"$out/$1"
}

go build -o "$scratch/peer" ./cmd/peer
"$scratch/peer" bench link >"$out/link.txt"
"$scratch/peer" bench sim >"$out/sim.txt"
round round.txt
if [ $# -gt 0 ]; then
	git worktree add -q --detach "$scratch/old" "$1"
	cd "$scratch/old"
	round round-before.txt
fi
