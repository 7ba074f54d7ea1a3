#!/usr/bin/env bash
# Lets readers of others read the event files of a simulated run and of a comparison, and compares every value with the
# CSV table of the same run. Readers that are not installed are skipped, loudly; it fails if there is none, or if one
# reads something else.
#
#   test/readers/events.sh [PEER]
#
# PEER is the binary to test; without it, it is built. PEER_PYTHON is the Python that is asked (/usr/bin/python3).
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
peer=${1:-$work/peer}
[ $# -gt 0 ] || go build -o "$peer" ./cmd/peer

"$peer" -q sim ring8 --set train.rounds=60 --set output.dir="$work/runs" >/dev/null
run=$(ls -d "$work"/runs/ring8-*)
cat >"$work/two.yaml" <<'EOF'
name: two
base: ring8
mode: sim
algorithms: [{label: full, name: dpsgd, codec: full}, {label: four bits, name: dpsgd, codec: moniqua, bits: 4}]
EOF
"$peer" -q compare "$work/two.yaml" -o "$work/two" --set train.rounds=30 >/dev/null

read=0
for folder in "$run" "$work/two"; do
  "$peer" export "$folder" --to tensorboard
  "$peer" export "$folder" --to csv >/dev/null
  for reader in tensorboard protobuf tfrecord; do
    if "${PEER_PYTHON:-/usr/bin/python3}" test/readers/events.py $reader "$folder/tensorboard" "$folder/scalars.csv" \
      app/export/testdata/event.proto; then
      read=$((read + 1))
    elif [ $? = 3 ]; then
      echo "SKIPPED: $reader" >&2
    else
      echo "$reader reads something else" >&2
      exit 1
    fi
  done
done
[ $read -gt 0 ] || { echo "no reader is installed" >&2; exit 1; }
