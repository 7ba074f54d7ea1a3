#!/bin/sh
# Runs comparisons, for example "comparisons.sh moniqua-fig1-lab". For each it keeps the forecast, the table, the
# conclusions and the figures in a folder below docs/results. Runs that are finished below runs/ are not made again.
#
# A folder with cells.tar.gz, the records of finished cells, belongs to a comparison of many hours: its script begins
# with these cells, and adds those that it finishes. It may be stopped by Ctrl-C.
set -eu
cd "$(dirname "$0")/.."
mkdir -p runs
go build -o runs/peer ./cmd/peer
for name; do
	kept=docs/results/$name
	run=runs/$name
	mkdir -p "$kept"
	runs/peer config check "$name" >"$kept/forecast.txt"
	if [ -e "$kept/cells.tar.gz" ]; then
		mkdir -p "$run"
		tar -C "$run" --skip-old-files -xzf "$kept/cells.tar.gz"
		trap : INT
		runs/peer compare "$name" -o "$run" || echo "$name: not all cells are finished" >&2
		trap - INT
		studies/keep "$run" "$kept/cells.tar.gz" 'cells/*/cell.json'
	else
		runs/peer compare "$name" -o "$run"
	fi
	runs/peer report "$run" >"$kept/table.txt" 2>"$run.log"
	grep -v -e '^report:' -e ' so far, ' "$run.log" >"$kept/conclusions.txt"
	for kind in loss accuracy bars parts networks targets scaling; do
		for picture in "$run/report/figures/$kind"*.png; do
			[ ! -e "$picture" ] || cp "$picture" "$kept"
		done
	done
	for table in tables/scaling tables/checklist data/results; do
		[ ! -e "$run/report/$table.csv" ] || cp "$run/report/$table.csv" "$kept"
	done
done
