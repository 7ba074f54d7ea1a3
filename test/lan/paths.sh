#!/usr/bin/env bash
# Tests that a link between two machines uses the faster one of their two networks. Two network namespaces share a
# network without a limit and one of 10 Mbit/s, by tc tbf. Each start has another order of the networks, other
# addresses, another order of the peers and new identities. Both machines also have a bridge docker0 with the same
# address. At least 95 % of the bytes must go over the fast network. The script prints the time of each start, with the
# fast network alone and with both. It judges no time.
#
# Needs root, iproute2 and the tbf queue. Without one of them the script says so and exits with 0. Everything it creates
# has the prefix below, and the script removes it at the end.
#
#   test/lan/paths.sh [PEER [STARTS [TRANSPORT]]]
#
# PEER is the binary to test; without it or with -, it is built. STARTS is the number of starts, 20 without it.
# TRANSPORT is tcp or quic, tcp without it.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly prefix="paths$$"
readonly starts=${2:-20}
readonly transport=${3:-tcp}
readonly deadline=120 # seconds for a run
peer=${1:--}

fail() { printf 'FAIL: %s\n' "$*" >&2; exit 1; }
skip() { printf 'SKIPPED: %s: nothing was tested\n' "$*" >&2; exit 0; }

[ "$(id -u)" = 0 ] || skip "this needs root"
for tool in ip tc awk; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
work=$(mktemp -d)
unplug() { for n in a b; do ip netns delete "$prefix-$n" 2>/dev/null || true; done; }
cleanup() {
  local pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  unplug
  rm -rf "$work"
}
trap cleanup EXIT

[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
peer=$(realpath "$peer")
cat >"$work/run.yaml" <<END
name: paths
topology: {kind: ring, size: 2}
algorithm: {name: dpsgd, codec: full}
data: {name: glyphs}
model: {name: mlp, hidden: [256]}
train: {rounds: 60, batch: 16}
node: {join_secret_file: secret, transport: $transport}
END
(umask 077 && head -c 32 /dev/urandom | base64 >"$work/secret")

# cable NETS... makes two namespaces with these networks, slow or fast, in this order, at random addresses.
cable() {
  local n net i first=$((RANDOM % 2)) at=$((RANDOM % 100 + 2)) up=$((RANDOM % 2))
  unplug
  for n in a b; do
    ip netns add "$prefix-$n" 2>/dev/null || skip "network namespaces cannot be made"
    ip -n "$prefix-$n" link set lo up
    ip -n "$prefix-$n" link add docker0 type bridge
    ip -n "$prefix-$n" address add 172.17.0.1/16 dev docker0
    ip -n "$prefix-$n" link set docker0 up
  done
  for net in "$@"; do
    ip -n "$prefix-a" link add "$net" type veth peer name "$net" netns "$prefix-b"
    local third=$at
    [ "$net" = slow ] || third=$((at + (up ? 100 : -1)))
    for n in a b; do
      [ "$n" = a ] && i=$((1 + first)) || i=$((2 - first))
      ip -n "$prefix-$n" address add "10.79.$third.$i/24" dev "$net"
      ip -n "$prefix-$n" link set "$net" up
      [ "$net" = fast ] ||
        tc -n "$prefix-$n" qdisc add dev "$net" root tbf rate 10mbit burst 32k latency 400ms 2>/dev/null ||
        skip "the kernel has no tbf"
    done
  done
}

# run starts both peers in random order, and prints the seconds of the rounds.
run() {
  local n pids=() order=(a b)
  [ $((RANDOM % 2)) = 0 ] || order=(b a)
  for n in "${order[@]}"; do
    rm -rf "${work:?}/$n" && mkdir "$work/$n"
    (cd "$work" && HOME=$work/$n exec timeout "$deadline" ip netns exec "$prefix-$n" \
      "$peer" run run.yaml --json --quiet --set "output.dir=$work/$n/runs" >"$work/$n/out" 2>"$work/$n/err") &
    pids+=($!)
    sleep "0.$((RANDOM % 6))"
  done
  for n in 0 1; do wait "${pids[n]}" || { cat "$work"/?/err >&2; fail "a peer"; }; done
  grep -o '"time_s": *[0-9.]*' "$work/a/out" | head -1 | grep -o '[0-9.]*$' || fail "no time in the summary"
}

# sent NET prints the bytes that machine a has sent over a network.
sent() { ip netns exec "$prefix-a" cat "/sys/class/net/$1/statistics/tx_bytes"; }

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

printf '%5s%16s%14s%16s%16s  %s\n' start "fast alone, s" "both, s" "slow, bytes" "fast, bytes" order
for ((k = 1; k <= starts; k++)); do
  cable fast
  alone=$(run)
  nets=(slow fast)
  [ $((RANDOM % 2)) = 0 ] || nets=(fast slow)
  cable "${nets[@]}"
  both=$(run)
  slow=$(sent slow) fast=$(sent fast)
  printf '%5d%16.3f%14.3f%16d%16d  %s\n' "$k" "$alone" "$both" "$slow" "$fast" "${nets[*]}"
  echo "$alone" >>"$work/alone"
  echo "$both" >>"$work/both"
  awk -v slow="$slow" -v fast="$fast" 'BEGIN { exit !(fast >= 0.95 * (slow + fast)) }' ||
    fail "start $k used the slow network"
done
printf 'medians over %s: fast alone %.3f s, both %.3f s\n' \
  "$transport" "$(median <"$work/alone")" "$(median <"$work/both")"
echo "ok: $starts starts used the fast network"
