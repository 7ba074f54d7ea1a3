#!/bin/sh
# Reproduces papers at a size, for example "reproduce.sh minutes moniqua d2". For each it keeps the table of claims in
# docs/results/claims, without the links into the folder of the runs. Runs that are finished below runs/ are not made again.
set -eu
cd "$(dirname "$0")/.."
size=$1
shift
mkdir -p runs docs/results/claims
go build -o runs/peer ./cmd/peer
for name; do
	runs/peer reproduce "$name" --size "$size" -o "runs/reproduce-$name-$size"
	sed 's/\[\([^][]*\)\]([^)]*)/\1/g' "runs/reproduce-$name-$size/claims.md" >"docs/results/claims/$name-$size.md"
done
