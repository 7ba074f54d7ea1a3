#!/usr/bin/env bash
# Measures rounds between peers on a slow LAN against plain TCP. Four peers in network namespaces train on a ring with a
# gradient that costs nearly nothing. Each sends at most 100 Mbit/s, by tc tbf. The script divides the time of a round by
# that of its bytes through one plain TCP stream. It also divides it by the time of a round with messages of the same
# length through plain sockets. It does so for the congestion control cubic and for that of the machine.
#
# Needs root, iproute2, the tbf queue and Python. Without one of them the script says so and exits with 0. Everything it
# creates has the prefix below, and the script removes it at the end.
#
#   test/lan/rounds.sh [PEER [BITS...]] >docs/performance/namespaces.txt
#
# PEER is the binary to measure; without it or with -, it is built. BITS are 32 8 4 2 1 without them. The variable ROUNDS
# is the number of rounds to measure, 200 without it. WARM is the number of rounds before them, a multiple of 10, and 10
# without it. CONGESTION is the congestion control to measure, both without it. GRAPH, PEERS, DIM and RATE are another
# graph, and other numbers of peers, coordinates and Mbit/s. Plain sockets are measured on a ring alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="rounds$$"
readonly peers=${PEERS:-4}
readonly graph=${GRAPH:-ring}
readonly dim=${DIM:-270000}
readonly rate=${RATE:-100} # Mbit/s
readonly warm=${WARM:-10}
readonly deadline=300 # seconds for a run
readonly rounds=${ROUNDS:-200}
peer=${1:--}
bits=("${@:2}")
[ ${#bits[@]} -gt 0 ] || bits=(32 8 4 2 1)

fail() { printf 'FAIL: %s\n' "$*" >&2; exit 1; }
skip() { printf 'SKIPPED: %s: nothing was measured\n' "$*" >&2; exit 0; }

[ "$(id -u)" = 0 ] || skip "this needs root"
for tool in ip tc awk python3; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
own=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
controls=(cubic)
[ "$own" = cubic ] || controls+=("$own")
[ -z "${CONGESTION:-}" ] || controls=("$CONGESTION")
ip netns add "$prefix-lan" 2>/dev/null || skip "network namespaces cannot be made"
work=$(mktemp -d)
cleanup() {
  local i pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

cable_peers 10.78.0
# Offloads would make packets of 64 KiB, which tbf drops. The burst lasts 4 ms: where the timer of the kernel comes
# later than that, tbf loses rate.
for ((i = 0; i < peers; i++)); do
  ip -n "$prefix-$i" link set eth0 gso_max_size 1514 2>/dev/null || ip -n "$prefix-$i" link set eth0 gso_max_segs 1 ||
    skip "segments cannot be limited to packets"
  tc -n "$prefix-$i" qdisc add dev eth0 root tbf rate "${rate}mbit" burst "$((512 * rate))b" latency 50ms 2>/dev/null ||
    skip "the kernel has no tbf"
done

[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
roster="peers: ["
for ((i = 0; i < peers; i++)); do
  "$peer" id new --key "$work/key$i" >/dev/null 2>&1
  id=$("$peer" id show --json --key "$work/key$i" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
  roster+="{id: $id, addrs: [/ip4/10.78.0.$((i + 1))/tcp/4001]}, "
done
cat >"$work/run.yaml" <<END
name: rounds
topology: {kind: $graph, size: $peers}
algorithm: {name: dpsgd}
model: {name: quadratic, dim: $dim}
train: {rounds: $((warm + rounds)), step_size: 0.05, momentum: 0, schedule: constant}
output: {every: 10}
${roster%, }]
END

# control CONGESTION sets the congestion control of all namespaces.
control() {
  local i
  for ((i = 0; i < peers; i++)); do
    ip -n "$prefix-$i" route replace 10.78.0.0/24 dev eth0 congctl "$1" || skip "there is no congestion control $1"
  done
}

# plain prints the bytes per second of one plain TCP stream from one namespace to another, after its slow start.
plain() {
  ip netns exec "$prefix-1" python3 - <<END &
import socket, time
stream = socket.create_server(("10.78.0.2", 5001)).accept()[0]
def take(n):
    while n > 0:
        n -= len(stream.recv(min(n, 1 << 16)))
take($rate * 50000)
began = time.monotonic()
take($rate * 400000)
print($rate * 400000 / (time.monotonic() - began))
END
  local reader=$!
  ip netns exec "$prefix-0" python3 - <<END
import socket, time
while True:
    try:
        stream = socket.create_connection(("10.78.0.2", 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
stream.sendall(bytes($rate * 450000))
END
  wait $reader
}

# ring BYTES prints the seconds of a round of such messages through plain sockets.
ring() {
  local i pids=()
  for ((i = 0; i < peers; i++)); do
    ip netns exec "$prefix-$i" timeout "$deadline" python3 test/lan/ring.py "$i" "$peers" "$1" "$rounds" &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || fail "plain sockets"; done
}

# run BITS trains and leaves the records of each peer in $work/runsN.
run() {
  local i pids=() codec=moniqua
  [ "$1" != 32 ] || codec=full
  for ((i = 0; i < peers; i++)); do
    rm -rf "$work/runs$i"
    timeout "$deadline" ip netns exec "$prefix-$i" "$peer" run "$work/run.yaml" --json --quiet \
      --set "algorithm.codec=$codec" --set "algorithm.bits=$1" --set "output.dir=$work/runs$i" \
      --set "node.key=$work/key$i" --set "node.listen=[/ip4/10.78.0.$((i + 1))/tcp/4001]" \
      >"$work/$i.out" 2>"$work/$i.err" &
    pids+=($!)
  done
  for ((i = 0; i < peers; i++)); do wait "${pids[i]}" || { cat "$work/$i.err" >&2; fail "$1 bits: peer $i"; }; done
}

# steps prints round, nanoseconds, bytes of messages and of the stream of each record of worker 0 from $warm on.
steps() {
  local number='\([0-9]*\)'
  grep -h '^{"step":{"rank":0,"round"' "$work"/runs0/*/events.jsonl |
    sed -n "s/.*\"round\":$number,\"time_ns\":$number.*\"sent\":{\"payload\":$number,\"stream\":$number,.*/\1 \2 \3 \4/p" |
    awk -v warm="$warm" '$1 >= warm'
}

# repairs prints how many messages or pieces of them worker 0 repaired.
repairs() { sed -n 's/.*"repaired": *\([0-9]*\).*/\1/p' "$work/0.out"; }

echo "$graph of $peers peers in network namespaces, $dim coordinates, tbf of $rate Mbit/s for each peer, $rounds rounds after $warm"
for congestion in "${controls[@]}"; do
  control "$congestion"
  tcp=$(plain)
  awk -v tcp="$tcp" -v name="$congestion" 'BEGIN {
    printf "\n%s: one plain TCP stream has %.1f Mbit/s\n\n", name, 8 * tcp / 1e6
    printf "%6s%11s%14s%13s%14s%12s%13s\n", "bits", "ms/round", "kB/round", "of repairs", "over stream", "over ring", "repairs" }'
  for b in "${bits[@]}"; do
    run "$b"
    plainly=0
    [ "$graph" != ring ] || plainly=$(ring $((dim * b / 8)))
    steps | awk -v bits="$b" -v tcp="$tcp" -v ring="$plainly" -v repairs="$(repairs)" '
      NR == 1 { round = $1; ns = $2; payload = $3; stream = $4 }
      { n = $1 - round; took = ($2 - ns) / 1e9 / n; all = ($4 - stream) / n; more = all - ($3 - payload) / n }
      END { printf "%6d%11.2f%14.1f%13.1f%14.3f%12s%13s\n", bits, 1e3 * took, all / 1e3, more / 1e3, took / (all / tcp), ring ? sprintf("%.3f", took / ring) : "-", repairs }'
  done
done
