#!/bin/sh
# Runs comparisons, for example "comparisons.sh moniqua-fig1-lab". For each it keeps the forecast, the table, the
# conclusions and the figures in a folder below docs/results. Runs that are finished below runs/ are not made again.
set -eu
cd "$(dirname "$0")/.."
mkdir -p runs
go build -o runs/peer ./cmd/peer
for name; do
	kept=docs/results/$name
	mkdir -p "$kept"
	runs/peer config check "$name" >"$kept/forecast.txt"
	runs/peer compare "$name" -o "runs/$name"
	runs/peer report "runs/$name" >"$kept/table.txt" 2>"runs/$name.log"
	grep -v -e '^report:' -e ' so far, ' "runs/$name.log" >"$kept/conclusions.txt"
	for kind in loss accuracy bars targets scaling; do
		for picture in "runs/$name/report/figures/$kind-"*.png; do
			[ ! -e "$picture" ] || cp "$picture" "$kept"
		done
	done
	for table in tables/scaling tables/checklist data/results; do
		[ ! -e "runs/$name/report/$table.csv" ] || cp "runs/$name/report/$table.csv" "$kept"
	done
done
