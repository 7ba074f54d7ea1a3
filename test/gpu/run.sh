#!/usr/bin/env bash
# Measures scripts on a machine with an NVIDIA GPU, torch 2 and no network, in at most eight minutes:
#
#     test/gpu/run.sh OUT                # writes a page for docs/results
#     DEVICE=cpu test/gpu/run.sh OUT     # the same with small sizes, without a GPU
#
# Bits are compared with those of the CPU. Steps of 1, 28 and 350 million numbers measure the hand-over. A LoRA of a
# random transformer in bfloat16 runs in two scripts without peers, and by two peers at 1 Gbit/s. PEER names the program where there is no Go;
# test/gpu/pack.sh packs it with this folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "${1:?usage: run.sh OUT}")
export DEVICE=${DEVICE:-cuda}
[ "$DEVICE" = cuda ] || export OMP_NUM_THREADS=1 # as a lab with few cores sets it
python=${PEER_PYTHON:-python3}
here=$(realpath test/gpu)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
peer=$(realpath "${PEER:-$scratch/peer}")
[ -n "${PEER:-}" ] || CGO_ENABLED=0 go build -trimpath -o "$peer" ./cmd/peer
modules=$("$peer" python path)
[ "$DEVICE" = cpu ] || "$python" -c 'import torch; assert torch.cuda.is_available(), "torch sees no GPU"'
cd "$scratch"
cat >two.yaml <<'END'
name: gpu
topology: {kind: ring, size: 2}
algorithm: {name: dpsgd, codec: full}
model: {name: external}
train: {rounds: script}
END
{ cat two.yaml; echo 'limit: {rate: 1gbit, latency: 0.2ms}'; } >line.yaml

# peers runs a loop by two peers, and alone runs it without any. Both print its lines.
peers() { timeout 150 "$peer" lab "$@" 2>&1 | tee -a log | grep -o 'GPU .*' || { tail -20 log >&2; exit 1; }; }
alone() { PYTHONPATH=$modules timeout 100 "$python" "$here/loop.py" "$@" 2>>log | grep -o 'GPU .*'; }

peers two.yaml -- "$python" "$here/loop.py" bits >bits
DEVICE=cpu peers two.yaml -- "$python" "$here/loop.py" bits >bits-cpu
sizes='1 28 350'
[ "$DEVICE" = cuda ] || sizes='0.1 1'
for millions in $sizes; do
	peers two.yaml -- "$python" "$here/loop.py" step "$millions" >>steps
done
alone lora >other & # as two peers share the device, so do these
alone lora >lora-alone
wait
peers line.yaml --set algorithm='{name: dpsgd, codec: moniqua, bits: 8}' -- "$python" "$here/loop.py" lora >lora

# value NAME prints the figure NAME of the first line of rank 0.
value() { sed -n "/rank=0/s/.* $1=\([^ ]*\).*/\1/p" | head -1; }
same=differ
[ "$(sed 's/ms=[^ ]*//' bits | sort)" != "$(sed 's/ms=[^ ]*//' bits-cpu | sort)" ] || same=equal
model=$(value ms <lora-alone)
linked=$(value ms <lora)
{
	echo '# Scripts on a GPU'
	echo
	echo "Made by \`test/gpu/run.sh\` with \`DEVICE=$DEVICE\`, on: $("$python" -c 'import torch, platform
print(torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine(), "with torch", torch.__version__)')."
	echo
	echo "Values on the device and on the CPU after eight rounds are $same, bit for bit."
	echo
	echo '| numbers, millions | step of a peer, ms |'
	echo '|---|---|'
	while read -r line; do
		case $line in *rank=0*) echo "| $(value millions <<<"$line") | $(value ms <<<"$line") |" ;; esac
	done <steps
	echo
	echo "| LoRA in bfloat16, $(value adapters <lora) numbers travel | ms a step |"
	echo '|---|---|'
	echo "| two scripts without peers | $model |"
	echo "| two peers, 8-bit Moniqua, 1 Gbit/s | $linked |"
	echo
	echo "With peers they do $(awk "BEGIN { printf \"%.0f\", 100 * $model / $linked }") % of these steps in the same time." \
		'Both share one device.'
} >"$out"
cat "$out"
