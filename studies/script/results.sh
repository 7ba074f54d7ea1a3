#!/bin/sh
# Writes docs/results/scripts.md: what a PyTorch script costs with peers, and how far its losses are from a reference.
# PEER_PYTHON is a Python with PyTorch, python3 by default.
set -eu
cd "$(dirname "$0")/../.."
python=${PEER_PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch/peer" ./cmd/peer
"$scratch/peer" lab examples/pytorch/ring8.yaml --quiet --json --set algorithm.bits=32 --set train.rounds=100 \
	--set output.every=1 --set "output.dir=$scratch/runs" -- "$python" examples/pytorch/train.py >"$scratch/summary" 2>&1
"$python" studies/script/reference.py "$scratch"/runs/* examples/pytorch/train.py >"$scratch/reference"
"$python" studies/script/throughput.py >"$scratch/throughput" 2>"$scratch/turns"
go test ./internal/bridge -run - -bench HandOver -benchtime 20x >"$scratch/handover"
{
	cat <<'END'
# Scripts

The study `scripts` makes this page (`go run ./studies scripts`). It needs PyTorch and an idle machine.

## Speed

Eight processes on one machine train ResNet-20 on random images, first without peers, then as peers. `throughput.py`
runs both in turns.

END
	cat "$scratch/throughput"
	cat <<'END'

## Hand-over of a vector

25 million elements, 100 MB, as multiples of one copy in the same run (`go test ./internal/bridge -bench HandOver`).
`out` is from the peer to the script, `back` the way back with the subtraction.

```text
END
	grep -E '^(cpu|Benchmark)' "$scratch/handover"
	cat <<'END'
```

## Against a reference

The script [train.py](../../examples/pytorch/train.py) on eight peers, D-PSGD in full precision, against PyTorch and
NumPy in one process (`studies/script/reference.py`), which adds in the same order.

```text
END
	cat "$scratch/reference"
	echo '```'
} >"$scratch/page"
mv "$scratch/page" docs/results/scripts.md
cat docs/results/scripts.md
