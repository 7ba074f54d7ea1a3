#!/bin/sh
# Compares four algorithms on the preset one-label10: ten workers that see one label of Fashion-MNIST each. Writes
# one-label10.png and one-label10.txt into docs/results. Runs that are finished below runs/one-label10 are not made
# again.
set -eu
cd "$(dirname "$0")/.."
results=docs/results
runs=runs/one-label10
mkdir -p "$runs"
go build -o "$runs/peer" ./cmd/peer

# train NAME SETTING... trains with these settings, unless that is done.
train() {
	name=$1
	shift
	if ls "$runs/$name"/*/summary.json >/dev/null 2>&1; then
		return
	fi
	rm -rf "${runs:?}/$name"
	for setting; do
		set -- "$@" --set "$setting"
		shift
	done
	"$runs/peer" sim one-label10 --quiet --compute 20ms \
		--set limit.rate=100mbit --set limit.latency=1ms \
		--set "output.dir=$runs/$name" "$@" >"$runs/$name.txt"
}

# Two at a time: a run keeps more than one core busy.
train allreduce algorithm.name=allreduce &
first=$!
train d2 algorithm.codec=full
wait "$first"
train moniqua-d2 &
first=$!
train dpsgd algorithm.name=dpsgd algorithm.codec=full topology.slack=0.9
wait "$first"

"$runs/peer" report "$runs"/allreduce/* "$runs"/d2/* "$runs"/moniqua-d2/* "$runs"/dpsgd/* \
	-o "$results/one-label10.png" >"$results/one-label10.txt"
cat "$results/one-label10.txt"
