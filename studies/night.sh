#!/bin/sh
# Runs the comparison moniqua-night, or only the labels that are given, as in "night.sh AllReduce 'Moniqua 8b'". One cell
# takes one to two hours of two cores. Cells that docs/results/moniqua-night/cells.tar.gz has are not made again. Ctrl-C
# is fine: cells go on from checkpoints below runs/. Then, or with KEEP=1 without running, the script keeps the records
# of all finished cells, the table, the conclusions and the figures.
set -eu
cd "$(dirname "$0")/.."
name=moniqua-night
kept=docs/results/$name
runs=runs/$name
mkdir -p "$runs" "$kept"
[ ! -e "$kept/cells.tar.gz" ] || tar -C "$runs" --skip-old-files -xzf "$kept/cells.tar.gz"
go build -o runs/peer ./cmd/peer
runs/peer config check "$name" >"$kept/forecast.txt"
if [ -z "${KEEP:-}" ]; then
	for label; do set -- "$@" --only "$label"; shift; done
	trap : INT
	runs/peer compare "$name" -o "$runs" "$@" || echo "not all cells are finished" >&2
fi
(cd "$runs" && ls -d cells/*/cell.json) | xargs -n 1 dirname >"$runs/finished.txt"
tar -C "$runs" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --exclude=checkpoints --exclude='*.safetensors' \
	--exclude=lock --exclude=log.txt -T "$runs/finished.txt" -cf - | gzip -9n >"$kept/cells.tar.gz"
runs/peer report "$runs" >"$kept/table.txt" 2>"$runs.log"
grep -v -e '^report:' -e ' so far, ' "$runs.log" >"$kept/conclusions.txt"
for picture in "$runs"/report/figures/loss-*.png "$runs"/report/figures/accuracy-*.png; do
	[ ! -e "$picture" ] || cp "$picture" "$kept"
done
