#!/usr/bin/env bash
# Eight peers in network namespaces train on graphs that change, that are directed or that are drawn. Each run must end
# with the digest of the simulator. Each kind runs with D-PSGD, quasi-global momentum and gradient tracking, in full
# precision and with Moniqua at 8, 4 and 2 bits. Needs root and iproute2. Everything the script creates has the prefix
# below, and it removes all of it at the end.
#
#   test/lan/graphs.sh [PEER [KIND...]]       PEER is the binary to test; without it or with -, it is built
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="graphs$$"
readonly peers=8
readonly rounds=24
readonly deadline=60 # seconds for a run
work=$(mktemp -d)
peer=${1:--}
kinds=("${@:2}")
[ ${#kinds[@]} -gt 0 ] || kinds=(one-peer-exponential base2 random-matching one-peer-hypercube random-shift
  static-exponential random-regular small-world erdos-renyi)

fail() { printf 'FAIL: %s\n' "$*" >&2; exit 1; }

cleanup() {
  local i pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

digest() { sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' "$1"; }

# train KEY=VALUE... runs all peers to their end, and the simulator. It compares the digests.
train() {
  local i pid set=() running=() began
  for i in "$@" topology.size=$peers train.rounds=$rounds; do set+=(--set "$i"); done
  began=$(date +%s%N)
  for ((i = 0; i < peers; i++)); do
    ip netns exec "$prefix-$i" timeout "$deadline" "$peer" run lan-ring --json "${set[@]}" \
      --set "$roster" --set "node.listen=[/ip4/10.79.0.$((i + 1))/tcp/4001]" --set "node.key=$work/key$i" \
      --set "node.join_secret_file=$work/secret" --set "output.dir=$work/runs$i" >"$work/$i.out" 2>"$work/$i.err" &
    running+=($!)
  done
  "$peer" sim lan-ring "${set[@]}" --json --quiet --set "output.dir=$work/sim" >"$work/sim.out"
  for i in "${!running[@]}"; do
    wait "${running[i]}" || { cat "$work/$i.err"; fail "$*: peer $i ends with an error, or not within $deadline s"; }
    [ "$(digest "$work/$i.out")" = "$(digest "$work/sim.out")" ] || cat "$work/$i".{out,err}; [ "$(digest "$work/$i.out")" = "$(digest "$work/sim.out")" ] ||
      fail "$*: peer $i has digest $(digest "$work/$i.out"), the simulator $(digest "$work/sim.out")"
  done
  printf '%-22s %-6s %2s bits  %.8s  %5d ms\n' "${1#*=}" "${2#*=}" "${3#*=}" "$(digest "$work/sim.out")" \
    $((($(date +%s%N) - began) / 1000000))
}

[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
"$peer" id secret "$work/secret" 2>/dev/null
roster=
for ((i = 0; i < peers; i++)); do
  "$peer" id new --key "$work/key$i" >/dev/null 2>&1
  id=$("$peer" id show --json --key "$work/key$i" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
  roster+="${roster:+, }{id: $id, addrs: [/ip4/10.79.0.$((i + 1))/tcp/4001]}"
done
roster="peers=[$roster]"
ip netns add "$prefix-lan"
cable_peers 10.79.0
for kind in "${kinds[@]}"; do
  for name in dpsgd qg gt; do
    for bits in 32 8 4 2; do train "topology.kind=$kind" "algorithm.name=$name" "algorithm.bits=$bits"; done
  done
done
printf 'ok: %d runs\n' $((12 * ${#kinds[@]}))
