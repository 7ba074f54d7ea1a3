#!/usr/bin/env bash
# Compares the limits of a run file with the kernel's. Two peers in network namespaces train once behind "limit" and
# once behind tc tbf of the same rate and burst. Both runs must take the same time per round, apart from headers and
# acknowledgements, which only tbf counts. The interface counts these bytes. Needs root, iproute2 and the tbf queue;
# without one of them the script prints that and exits with 0. Everything it creates has the prefix below, and the
# script removes it at the end.
#
#   test/lan/shaper.sh [PEER]       PEER is the binary to test; without it, it is built
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly prefix="shaper$$"
readonly rates=(5 20 100)   # Mbit/s
readonly least=10240        # bytes of burst, which leave at once after a pause: tbf needs a burst
readonly deadline=60        # seconds for a run
readonly tolerance=0.03

say() { printf '%s\n' "$*"; }
fail() { say "FAIL: $*" >&2; exit 1; }
skip() { say "SKIPPED: $*: nothing was compared" >&2; exit 0; }

[ "$(id -u)" = 0 ] || skip "this needs root"
for tool in ip tc awk; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
ip netns add "$prefix-0" 2>/dev/null || skip "network namespaces cannot be made"
work=$(mktemp -d)
cleanup() {
  local pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  ip netns delete "$prefix-0" 2>/dev/null || true
  ip netns delete "$prefix-1" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
ip netns add "$prefix-1"
ip -n "$prefix-0" link add eth0 type veth peer name eth0 netns "$prefix-1"
for i in 0 1; do
  ip -n "$prefix-$i" address add "10.78.0.$((i + 1))/24" dev eth0
  ip -n "$prefix-$i" link set lo up
  ip -n "$prefix-$i" link set eth0 up
done
# If the kernel's timer fires after the burst is used up, tbf loses rate, so the burst lasts at least 4 ms.
burst() { echo $(($1 < 20 ? least : 512 * $1)); }
# Offloads would make packets of 64 KiB, which tbf drops.
gso() { ip -n "$prefix-$1" link set eth0 gso_max_size 1514 2>/dev/null || ip -n "$prefix-$1" link set eth0 gso_max_segs 1; }
queue() { tc -n "$prefix-$1" qdisc add dev eth0 root tbf rate "$2mbit" burst "$(burst "$2")b" latency 50ms 2>/dev/null; }
unqueue() { tc -n "$prefix-$1" qdisc delete dev eth0 root; }
queue 0 1 || skip "the kernel has no tbf"
unqueue 0
for i in 0 1; do gso $i || skip "segments cannot be limited to packets"; done

peer=${1:-$work/peer}
[ $# -gt 0 ] || go build -o "$peer" ./cmd/peer
for i in 0 1; do mkdir -p "$work/$i"; "$peer" id new --key "$work/$i/key" >/dev/null 2>&1; done
name() { "$peer" id show --json --key "$work/$1/key" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p'; }
roster="peers=[{id: $(name 0), addrs: [/ip4/10.78.0.1/tcp/4001]}, {id: $(name 1), addrs: [/ip4/10.78.0.2/tcp/4001]}]"

sent() { ip netns exec "$prefix-0" cat /sys/class/net/eth0/statistics/tx_bytes; }
field() { sed -n "s/.*\"$1\": *\([0-9.e-]*\).*/\1/p" "$work/0.out"; }

# seconds ROUNDS SETTING... runs both peers and prints the seconds of a round. The first five do not count, because the
# peers connect in them. Messages are long, so that pauses of about half a millisecond, in which neither peer sends,
# matter little.
seconds() {
  local rounds=$1 i pids=()
  shift
  for i in 0 1; do
    rm -rf "$work/$i/runs"
    timeout "$deadline" ip netns exec "$prefix-$i" "$peer" run ring8 --json --quiet --set topology.size=2 --set algorithm.codec=full \
      --set algorithm.bits=32 --set train.batch=1 --set 'model.hidden=[256]' --set "train.rounds=$rounds" --set "$roster" --set "node.key=$work/$i/key" \
      --set "node.listen=[/ip4/10.78.0.$((i + 1))/tcp/4001]" --set "output.dir=$work/$i/runs" --set output.every=5 "$@" >"$work/$i.out" 2>"$work/$i.err" &
    pids+=($!)
  done
  for i in 0 1; do wait "${pids[i]}" || { cat "$work/$i.err" >&2; fail "peer $i"; }; done
  sed -n 's/.*"round":\([0-9]*\),"time_ns":\([0-9]*\).*/\1 \2/p' "$work"/0/runs/*/events.jsonl |
    awk 'NR == 1 { round = $1; time = $2 } { rounds = $1 - round; ns = $2 - time } END { printf "%.6f", ns / rounds / 1e9 }'
}

for rate in "${rates[@]}"; do
  rounds=$((rate < 20 ? 10 : rate))
  ours=$(seconds $rounds --set "limit.rate=${rate}mbit" --set "limit.burst=$(burst "$rate")")
  for i in 0 1; do queue $i "$rate"; done
  before=$(sent)
  kernel=$(seconds $rounds)
  headers=$(awk -v sent=$(($(sent) - before)) -v wire="$(field wire)" 'BEGIN { print sent / wire }')
  for i in 0 1; do unqueue $i; done
  awk -v rate="$rate" -v ours="$ours" -v kernel="$kernel" -v headers="$headers" -v most=$tolerance 'BEGIN {
    off = kernel / headers / ours - 1
    printf "%d Mbit/s: %.1f ms per round behind limit, %.1f behind tbf, %+.1f %% without the headers (%.3f)\n", rate, 1e3*ours, 1e3*kernel, 100*off, headers
    exit !(off < most && off > -most) }' || fail "they differ by more than $tolerance"
done
say "ok"
