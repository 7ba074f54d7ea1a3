#!/bin/sh
# Reproduces papers at a size, for example "reproduce.sh minutes moniqua d2". For each it keeps the table of claims in
# docs/results/claims, without the links into the folder of the runs. Runs that are finished below runs/ are not made again.
#
# The cells that docs/results keeps of the part of a night count as finished. After Ctrl-C the finished cells are judged.
set -eu
cd "$(dirname "$0")/.."
size=$1
shift
mkdir -p runs docs/results/claims
go build -o runs/peer ./cmd/peer
for name; do
	run=runs/reproduce-$name-$size
	kept=docs/results/$name-$size/cells.tar.gz
	if [ -e "$kept" ]; then
		mkdir -p "$run/$size"
		echo "{\"name\": \"$name\", \"size\": \"$size\"}" >"$run/reproduce.json"
		tar -C "$run/$size" --skip-old-files -xzf "$kept"
		trap : INT
		runs/peer reproduce "$name" --size "$size" -o "$run" || echo "$name: not all cells are finished" >&2
		trap - INT
		runs/peer report "$run" >/dev/null
	else
		runs/peer reproduce "$name" --size "$size" -o "$run"
	fi
	sed 's/\[\([^][]*\)\]([^)]*)/\1/g' "$run/claims.md" >"docs/results/claims/$name-$size.md"
done
