#!/usr/bin/env bash
# Peers in network namespaces on one bridge, as on a LAN: they find each other without an address, train, and refuse
# who does not belong. Needs root and iproute2. Everything it makes has the prefix below and is removed at the end.
#
#   test/lan/lan.sh [PEER]       PEER is the binary to test; without it, it is built
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly prefix="gossip$$"
readonly peers=8
readonly spread=5      # seconds over which the peers are started
readonly deadline=120  # seconds for a whole scenario
work=$(mktemp -d)
peer=${1:-$work/peer}
[ $# -gt 0 ] || go build -o "$peer" ./cmd/peer

say() { printf '%s\n' "$*"; }
fail() { say "FAIL: $*" >&2; exit 1; }

cleanup() {
  local i
  pkill -KILL -f "$work/" 2>/dev/null || true
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# A namespace with a bridge, and one per peer with a cable to it. There is no route to anywhere else.
make_lan() {
  local i
  ip netns add "$prefix-lan"
  ip -n "$prefix-lan" link add bridge type bridge mcast_snooping 0
  ip -n "$prefix-lan" link set bridge up
  for ((i = 0; i < peers; i++)); do
    ip netns add "$prefix-$i"
    ip -n "$prefix-$i" link add eth0 type veth peer name "port$i" netns "$prefix-lan"
    ip -n "$prefix-lan" link set "port$i" master bridge up
    ip -n "$prefix-$i" link set lo up
    ip -n "$prefix-$i" address add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$prefix-$i" link set eth0 up
  done
}

# start NAMESPACE NAME ARGUMENT... runs "peer run" there; its output is in $work/NAME.out, .err and .code.
start() {
  local ns=$1 name=$2
  shift 2
  mkdir -p "$work/$name"
  rm -f "$work/$name".{out,err,code}
  (
    code=0
    XDG_CONFIG_HOME="$work/$name" ip netns exec "$prefix-$ns" "$peer" run "$@" --json \
      --set "output.dir=$work/$name/runs" --set "node.key=$work/$name/key" \
      >"$work/$name.out" 2>"$work/$name.err" || code=$?
    echo "$code" >"$work/$name.code"
  ) &
}

# until_true SECONDS COMMAND... waits for a command to succeed.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

ended() { [ -s "$work/$1.code" ]; }
training() { grep -qs '"state":"training"' "$work/$1"/runs/*/events.jsonl; }
field() { sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$work/$1.out" | head -n 1; }
now() { date +%s%N; }

eight_peers_train() {
  local i last began latest=0 digest expected wire sent
  local set=(--set train.rounds=100 --set topology.size=$peers)
  for ((i = 0; i < peers; i++)); do
    sleep "$(awk -v r=$RANDOM -v s=$spread -v n=$peers 'BEGIN{print r/32767*2*s/n}')"
    start $i "train$i" lan-ring "${set[@]}"
    last=$(now)
  done
  for ((i = 0; i < peers; i++)); do
    until_true 30 training "train$i" || { cat "$work/train$i.err"; fail "peer $i does not train"; }
  done
  began=$(( ($(now) - last) / 1000000 ))
  say "training began $began ms after the last start"
  [ "$began" -lt 5000 ] || fail "later than 5 s"
  for ((i = 0; i < peers; i++)); do
    until_true $deadline ended "train$i" || fail "peer $i does not end"
    [ "$(cat "$work/train$i.code")" = 0 ] || { cat "$work/train$i.err"; fail "peer $i exits with $(cat "$work/train$i.code")"; }
    [ "$(field "train$i" digest)" = "$(field train0 digest)" ] || fail "peers $i and 0 differ in the digest"
  done
  digest=$(field train0 digest)
  expected=$("$peer" sim lan-ring "${set[@]}" --json --quiet --set "output.dir=$work/sim" |
    sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p')
  [ "$digest" = "$expected" ] || fail "digest $digest, simulated $expected"
  say "digest $digest, as in the simulator"
  wire=$(field train0 wire)
  sent=0
  for ((i = 0; i < peers; i++)); do
    sent=$((sent + $(ip netns exec "$prefix-$i" cat /sys/class/net/eth0/statistics/tx_bytes)))
  done
  awk -v wire="$wire" -v sent=$((sent / peers)) -v payload="$(field train0 payload)" 'BEGIN {
    printf "bytes per peer: payload %d, counted at the socket %d (%.4f of it), at the interface %d (%.4f of the socket)\n",
      payload, wire, wire / payload, sent, sent / wire
    exit !(sent >= wire && sent <= 1.10 * wire) }' || fail "the interface disagrees with the count at the socket"
}

# refused NAME WORDS: a peer has ended with exit code 4 and said so.
refused() {
  until_true 30 ended "$1" || { cat "$work/$1.err"; fail "$1 is not refused"; }
  [ "$(cat "$work/$1.code")" = 4 ] || { cat "$work/$1.err"; fail "$1 exits with $(cat "$work/$1.code"), want 4"; }
  says "$1" "$2"
}
says() { until_true 15 grep -qsi -- "$2" "$work/$1.err" || { cat "$work/$1.err"; fail "$1 does not say \"$2\""; }; }
stop() { pkill -INT -f "$work/$1/" || true; until_true 5 ended "$1" || fail "$1 does not stop"; }

strangers_are_refused() {
  local small=(--set topology.size=2 --set train.rounds=50)
  start 0 host1 lan-ring "${small[@]}" -v
  start 1 otherfile lan-ring "${small[@]}" --set algorithm.bits=4 -v
  refused otherfile algorithm
  says host1 algorithm
  say "another run file: refused, both ends name the section"
  stop host1
  start 2 host2 lan-ring "${small[@]}" -v
  start 3 othersecret lan-ring "${small[@]}" --set node.join_secret=guess -v
  says othersecret secret
  says host2 secret
  say "another secret: refused, both ends say so"
  stop othersecret
  ! ended host2 || fail "a stranger has made host2 give up"
  stop host2

  start 0 first lan-ring "${small[@]}" -v
  until_true 10 grep -qs "this peer is" "$work/first.err" || fail "first does not start"
  stop first
  id() { "$peer" id show --json --key "$work/$1/key" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p'; }
  for name in friend stranger; do mkdir -p "$work/$name"; "$peer" id new --key "$work/$name/key" >/dev/null 2>&1; done
  roster() { printf 'peers=[{id: %s, addrs: [/ip4/10.77.0.1/tcp/4001]}, {id: %s, addrs: [/ip4/10.77.0.2/tcp/4001]}]' "$(id first)" "$(id "$1")"; }
  start 0 first lan-ring "${small[@]}" --set "$(roster friend)" --set 'node.listen=[/ip4/10.77.0.1/tcp/4001]' -v
  start 1 stranger lan-ring "${small[@]}" --set "$(roster stranger)" --set 'node.listen=[/ip4/10.77.0.2/tcp/4001]' -v
  refused stranger roster
  says first "$(id stranger | tail -c 9)"
  say "an unknown id: refused, both ends say so"
  stop first
}

make_lan
eight_peers_train
strangers_are_refused
say "ok"
