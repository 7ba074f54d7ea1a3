#!/bin/sh
# Writes the figures of docs/performance.md about training to docs/performance/. The machine may be busy: rates are per
# second of CPU time, or of the fastest call. The comparison with PyTorch needs PyTorch for /usr/bin/python3.
set -eu
cd "$(dirname "$0")/../.."
out=docs/performance
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CGO_ENABLED=0

go build -o "$scratch/step" ./studies/pytorch/step
step() { # tier model batch
	printf '%s, batch %s: ' "$2" "$3"
	PEER_SIMD=$1 "$scratch/step" -model "$2" -batch "$3" -for 2s
}
{
	for tier in off avx2 avx512; do
		step $tier resnet20 32
		step $tier mlp 128
	done
	for tier in avx2 avx512; do
		step $tier resnet110 32
		step $tier vgg16 32
	done
} >"$out/steps.txt"

go test -run '^$' -bench 'Convolve|Outer' -benchtime 200ms ./internal/kernel | grep '^Benchmark' >"$out/kernels.txt"

for tier in off avx512; do
	PEER_SIMD=$tier go test -run '^$' -bench 'Gradient/resnet20_batch' -benchtime 5s \
		-cpuprofile "$scratch/$tier.prof" -o "$scratch/model.test" ./model >/dev/null
	echo "ResNet-20, BatchNorm, batch 32, PEER_SIMD=$tier"
	go tool pprof -top -nodecount 16 "$scratch/model.test" "$scratch/$tier.prof" 2>/dev/null | sed -n '/flat%/,$p'
	echo
done >"$out/profile.txt"

{
	/usr/bin/python3 studies/pytorch/pytorch.py --rounds 3 --seconds 2
	echo
	/usr/bin/python3 studies/pytorch/pytorch.py --avx2 --rounds 3 --seconds 2 resnet20:32 mlp:128
	echo
	/usr/bin/python3 studies/pytorch/pytorch.py --processes 8 --rounds 1 --seconds 6 resnet20:32
	echo
	/usr/bin/python3 studies/pytorch/pytorch.py --rounds 5 --seconds 2 lenet:32
} >"$out/pytorch.md"
