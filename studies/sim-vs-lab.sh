#!/bin/sh
# Runs the cells of the comparison sim-vs-lab by the simulator and by real peers and keeps how well they agree in
# docs/results. The times are valid only on an idle machine. Runs that are finished below runs/ are not made again.
set -eu
cd "$(dirname "$0")/.."
mkdir -p runs
go build -o runs/peer ./cmd/peer
for mode in sim lab; do
	runs/peer compare sim-vs-lab --mode "$mode" -o "runs/sim-vs-lab-$mode" >/dev/null
done
runs/peer report runs/sim-vs-lab-sim runs/sim-vs-lab-lab | tee docs/results/sim-vs-lab.txt
