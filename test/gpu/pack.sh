#!/usr/bin/env bash
# Packs the program and the loops for a machine without Go and without a network:
#
#     test/gpu/pack.sh gpu.tar.xz      # there: tar xf gpu.tar.xz && PEER=./peer test/gpu/run.sh OUT
set -euo pipefail
out=$(realpath -m "${1:?usage: pack.sh FILE.tar.xz}")
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$scratch/peer" ./cmd/peer
mkdir -p "$scratch/test"
cp -r test/gpu "$scratch/test/gpu"
tar -C "$scratch" -cJf "$out" peer test
du -h "$out"
