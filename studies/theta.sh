#!/bin/sh
# Writes docs/performance/theta.txt: what rules of theta cost on a slow link, in the simulator. Four peers on a ring send
# 270,000 coordinates at 100 Mbit/s. The time of a round is divided by that of its payload alone. Gradients cost nothing,
# so that the figures do not depend on the machine.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 go build -o "$scratch/peer" ./cmd/peer

# ends RULE BITS ROUNDS prints the virtual time of worker 0 after its rounds, in nanoseconds.
ends() {
	"$scratch/peer" sim --quiet --compute 1ns --set topology='{kind: ring, size: 4}' \
		--set algorithm="{name: dpsgd, bits: $2, theta: $1}" --set model='{name: quadratic, dim: 270000}' \
		--set train="{rounds: $3, step_size: 0.05, momentum: 0, schedule: constant}" --set limit.rate=100mbit \
		--set output="{dir: $scratch/runs, every: $3}" >/dev/null
	sed -n 's/.*"step":{"rank":0,.*"time_ns":\([0-9]*\).*/\1/p' "$scratch"/runs/*/events.jsonl | tail -n 1
	rm -rf "$scratch/runs"
}

{
	echo "ring of 4 peers in the simulator, 270000 coordinates, 100 Mbit/s for each peer"
	echo "ms per round, and times that of its payload at the rate of the link"
	echo
	printf '%5s  %-24s  %9s  %15s  %16s\n' bits theta "1 to 10" "11 to 60" "61 to 210"
	for bits in 8 4 2 1; do
		for theta in '{rule: adaptive}' '{rule: measured}' '{rule: fixed, value: 1.5}'; do
			first=$(ends "$theta" $bits 10) second=$(ends "$theta" $bits 60) third=$(ends "$theta" $bits 210)
			awk -v b=$bits -v t="$theta" -v x="$first" -v y="$second" -v z="$third" 'BEGIN {
				floor = 2 * 270000 * b / 8 * 8 / 100e6 * 1e9
				printf "%5d  %-24s", b, substr(t, 2, length(t) - 2)
				printf "  %6.2f %5.3f  %8.2f %6.3f  %8.2f %6.3f\n", x / 10 / 1e6, x / 10 / floor,
					(y - x) / 50 / 1e6, (y - x) / 50 / floor, (z - y) / 150 / 1e6, (z - y) / 150 / floor
			}'
		done
	done
} >docs/performance/theta.txt
