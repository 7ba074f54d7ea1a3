#!/usr/bin/env bash
# A default run among strangers, who announce themselves by multicast, refuse its peers for every reason at every stage,
# and send garbage. The peers wait for each other, train, are interrupted and go on with --resume, as without strangers.
# Machines are network namespaces on one bridge. Needs root and iproute2. Everything the script creates has the prefix
# below, and it removes all of it at the end.
#
#   test/lan/strangers.sh [PEER]       PEER is the binary to test; without it, it is built
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="ghosts$$"
readonly peers=3       # the last namespace has the strangers
readonly limit=120     # seconds for one command
work=$(mktemp -d)
peer=${1:-$work/peer}
[ $# -gt 0 ] || go build -o "$peer" ./cmd/peer
go build -o "$work/strangers" ./test/strangers

say() { printf '%s\n' "$*"; }
fail() { say "FAIL: $*"; tail -n 20 "$work"/m*/err; exit 1; }

cleanup() {
  local i pid
  for pid in $(jobs -p) $(cat "$work"/*.pid 2>/dev/null); do kill -TERM "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# start MACHINE ARGUMENT... starts a peer there, in a folder of its own.
start() {
  local i=$1
  shift
  rm -f "$work/m$i/code"
  (
    code=0
    cd "$work/m$i"
    XDG_CONFIG_HOME="$work/m$i" ip netns exec "$prefix-$i" timeout -s INT -k 5 "$limit" "$peer" \
      run lan.yaml --json "$@" >out 2>err &
    echo $! >"$work/$i.pid"
    wait $! || code=$?
    echo "$code" >code
  ) &
}

# until_true SECONDS COMMAND... waits for a command to succeed.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

ended() { [ -s "$work/m$1/code" ]; }
digest() { sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' "$1" | head -n 1; }
trained() { grep -qs '"round":20,' "$work/m0"/runs/*/events.jsonl; }

ends() {
  until_true $limit ended "$1" || fail "peer $1 does not end"
  [ "$(cat "$work/m$1/code")" = "$2" ] || fail "peer $1 exits with $(cat "$work/m$1/code"), want $2"
}

ip netns add "$prefix-lan"
cable_peers 10.83.0
mkdir "$work/m0" "$work/m1"
(cd "$work/m0" && "$peer" init --name lan --machines 2 --rounds 200 --no-invite 2>/dev/null)
cp -p "$work"/m0/lan.* "$work/m1"
ip netns exec "$prefix-2" timeout -k 5 600 "$work/strangers" -haunt lan >/dev/null &

start 0
until_true 60 grep -qs "has not proven that it belongs" "$work/m0/err" || fail "peer 0 meets no stranger"
! until_true 20 ended 0 || fail "strangers have ended peer 0"
say "one peer alone among strangers waits"
start 1
until_true 60 trained || fail "the peers do not train"
kill -INT "$(cat "$work/0.pid")" # timeout passes it on
for i in 0 1; do until_true 30 ended $i || fail "peer $i does not stop"; done
say "interrupted in the middle"
for i in 0 1; do start $i --resume; done
for i in 0 1; do ends $i 0; done
want=$(cd "$work/m0" && "$peer" sim lan.yaml --json --quiet --set output.dir=sim >"$work/sim" && digest "$work/sim")
for i in 0 1; do [ "$(digest "$work/m$i/out")" = "$want" ] || fail "peer $i: $(digest "$work/m$i/out"), simulated $want"; done
say "resumed among strangers: digest $want, as in the simulator"
say "ok"
