#!/bin/sh
# Trains an MLP of 100 million parameters in four peers on this machine, kills one of them, and writes what each peer
# takes to docs/results/bigmodel.md. With the argument 1000 it trains one of 1 billion parameters in two peers instead,
# and adds its table. That needs 20 GB of free memory and 8 GB of disk. PEER_DATA names the folder of the data sets. Not part of CI:
# the first takes about 7 GB of memory and 9 GB of disk below runs/.
set -eu
cd "$(dirname "$0")/../.."
which=${1:-100}
dir=runs/bigmodel
result=docs/results/bigmodel.md
mkdir -p "$dir"
go build -o "$dir/peer" ./cmd/peer
file=studies/bigmodel/m$which.yaml

free() { awk '/MemAvailable/ {print int($2 / 1000000)}' /proc/meminfo; }
need=8
[ "$which" = 1000 ] && need=20
if [ "$(free)" -lt "$need" ]; then
	echo "bigmodel: $(free) GB of memory are free, $need are needed" >&2
	exit 1
fi

# Each line of peaks-*.txt is a process of a peer, and the most memory that it has held so far, in MB.
watch() {
	while kill -0 "$1" 2>/dev/null; do
		for pid in $(pgrep -f "$dir/peer run" || true); do
			awk -v pid="$pid" '/VmHWM/ {print pid, int($2 * 1.024 / 1000)}' "/proc/$pid/status" 2>/dev/null || true
		done >>"$dir/peaks-$which.txt"
		sleep 1
	done
}

rm -rf "$dir/peaks-$which.txt" "$dir/out"
"$dir/peer" config check "$file" >"$dir/plan-$which.txt"
if [ "$which" = 100 ]; then
	"$dir/peer" lab "$file" --fault 'at=3 kill=1' --set output.dir="$dir/out" >"$dir/said-$which.txt" &
	watch $!
	wait $!
else
	# Two peers by themselves: the process of a lab would read both models at the end.
	for rank in 0 1; do
		[ -f "$dir/$rank.key" ] || "$dir/peer" id new --key "$dir/$rank.key" >/dev/null
	done
	[ -f "$dir/secret" ] || "$dir/peer" id secret "$dir/secret" >/dev/null
	for rank in 0 1; do
		"$dir/peer" run "$file" --set node.key="$dir/$rank.key" --set node.join_secret_file="$dir/secret" \
			--set output.dir="$dir/out/$rank" >"$dir/said-$rank.txt" &
	done
	watch $!
	wait
	cat "$dir/said-0.txt" >"$dir/said-$which.txt"
fi

# multiple prints the largest peak as a multiple of the model.
multiple() {
	model=$(awk '$1 == "model" {print $2 * ($3 == "GB" ? 1000 : 1)}' "$dir/plan-$1.txt")
	awk -v model="$model" '$2 > most {most = $2} END {printf "%.2f", most / model}' "$dir/peaks-$1.txt"
}

table() {
	echo "\`config check\` of [m$1.yaml](../../studies/bigmodel/m$1.yaml) says what a peer takes at most:"
	printf '\n```text\n'
	sed -n '/^memory/,$p' "$dir/plan-$1.txt"
	printf '```\n\nMeasured, MEMORY being the peak of the resident memory:\n\n```text\n'
	sed 's/ *$//' "$dir/said-$1.txt" | sed -n '/PEER/,$p' | sed '/^$/,$d'
	printf '```\n\nThe peaks of all processes, the one that was killed included, in MB: '
	awk '{peak[$1] = $2} END {for (pid in peak) print peak[pid]}' "$dir/peaks-$1.txt" | sort -n | paste -s -d ' ' |
		sed 's/ /, /g; s/$/./'
	printf '\nThe largest is %s times the model. ' "$(multiple "$1")"
	echo "It includes about 28 MB of the program's file, which all peers share."
}

{
	echo '# Big models'
	echo
	echo "The study \`studies/bigmodel/run.sh\` writes this page. Model sizes are 4 bytes per parameter."
	for size in 100 1000; do
		if [ -f "$dir/said-$size.txt" ]; then
			printf '\n## %s million parameters\n\n' "$size"
			table "$size"
		fi
	done
} >"$result"
