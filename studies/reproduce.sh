#!/bin/sh
# Reproduces papers at a size, for example "reproduce.sh minutes moniqua d2". For each it keeps the table of claims in
# docs/results/claims, without the links into the folder of the runs. Runs that are finished below runs/ are not made again.
#
# A size of many hours has archives of finished cells: of the comparison named as the size, and beside the table of its
# other parts. It begins with these cells and adds to the latter archive those that it finishes. After Ctrl-C the finished
# cells are judged.
set -eu
cd "$(dirname "$0")/.."
size=$1
shift
mkdir -p runs docs/results/claims
go build -o runs/peer ./cmd/peer
for name; do
	run=runs/reproduce-$name-$size
	kept=docs/results/$name-$size/cells.tar.gz
	others=docs/results/claims/$name-$size.tar.gz
	if [ -e "$kept" ]; then
		mkdir -p "$run/$size"
		echo "{\"name\": \"$name\", \"size\": \"$size\"}" >"$run/reproduce.json"
		tar -C "$run/$size" --skip-old-files -xzf "$kept"
		tar -C "$run" --skip-old-files -xzf "$others"
		trap : INT
		runs/peer reproduce "$name" --size "$size" -o "$run" || echo "$name: not all cells are finished" >&2
		trap - INT
		runs/peer report "$run" >/dev/null
		studies/keep "$run" "$others" 'start*/cells/*/cell.json' 'fig*/cells/*/cell.json'
	else
		runs/peer reproduce "$name" --size "$size" -o "$run"
	fi
	sed 's/\[\([^][]*\)\]([^)]*)/\1/g' "$run/claims.md" >"docs/results/claims/$name-$size.md"
done
