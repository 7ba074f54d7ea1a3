#!/usr/bin/env bash
# Peers in network namespaces on one bridge, as on a LAN: they find each other without an address, train, and refuse
# strangers. Needs root and iproute2. Everything the script creates has the prefix below, and it removes all of it at
# the end.
#
#   test/lan/lan.sh [PEER]       PEER is the binary to test; without it, it is built
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

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

make_lan() {
  "$peer" id secret "$work/secret" 2>/dev/null
  "$peer" id secret "$work/guess" 2>/dev/null
  ip netns add "$prefix-lan"
  cable_peers 10.77.0
}

# start NAMESPACE NAME ARGUMENT... runs "peer run" there; its output is in $work/NAME.out, .err and .code.
start() {
  local ns=$1 name=$2
  shift 2
  mkdir -p "$work/$name"
  rm -f "$work/$name".{out,err,code}
  (
    code=0
    # shellcheck disable=SC2016  # the inner shell expands
    XDG_CONFIG_HOME="$work/$name" ip netns exec "$prefix-$ns" unshare --uts \
      sh -c 'hostname "$1"; shift; exec "$@"' sh "host-$name" "$peer" run --json \
      --set "output.dir=$work/$name/runs" --set "node.key=$work/$name/key" "$@" \
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
  local set=(--set train.rounds=100 --set topology.size=$peers --set "node.join_secret_file=$work/secret")
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
    printf "bytes per peer: payload %d, counted on the wire %d (%.4f of it), at the interface %d (%.4f of the socket)\n",
      payload, wire, wire / payload, sent, sent / wire
    exit !(sent >= wire && sent <= 1.10 * wire) }' || fail "the interface disagrees with the count on the wire"
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
  local small=(--set topology.size=2 --set train.rounds=50 --set "node.join_secret_file=$work/secret")
  start 0 host1 lan-ring "${small[@]}" -v
  start 1 otherfile lan-ring "${small[@]}" --set algorithm.bits=4 -v
  refused otherfile "cannot work with host-host1 (.*): algorithm.bits is 4 here and 8 there"
  says host1 "cannot work with host-otherfile (.*): algorithm.bits is 8 here and 4 there"
  say "another run file: refused, both ends name the machine, the key and both values"
  stop host1
  start 2 host2 lan-ring "${small[@]}" -v
  start 3 othersecret lan-ring "${small[@]}" --set "node.join_secret_file=$work/guess" -v
  says othersecret secret
  says host2 secret
  ! grep -qs "host-othersecret\|algorithm" "$work/host2.err" || fail "host2 believes a stranger"
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

# Four machines start a user's script, one of them another version. That one ends, and each end says how the scripts
# differ. With the right version in its place the run goes on.
scripts() {
  local name i set=(-v --set "node.join_secret_file=$work/secret" "$work/script.yaml") run=(python3 test/lan/script.py)
  local right="2 tensors, 15 elements, hash [0-9a-f]*" wrong="1 tensor, 12 elements, hash [0-9a-f]*"
  local difference="the first difference is tensor 2"
  printf 'topology: {kind: ring, size: 4}\nmodel: {name: external}\ntrain: {rounds: 50}\n' >"$work/script.yaml"
  for ((i = 0; i < 3; i++)); do start $i "script$i" "${set[@]}" -- "${run[@]}" fc.weight=12 fc.bias=3; done
  start 3 otherscript "${set[@]}" -- "${run[@]}" fc.weight=12
  refused otherscript "its script has other parameters: $right; here $wrong; $difference, fc.bias .3. there and missing here"
  says otherscript "start the same script on every machine"
  for ((i = 0; i < 3; i++)); do
    says "script$i" "its script has other parameters: $wrong; here $right; $difference, missing there and fc.bias .3. here"
    ! ended "script$i" || fail "another script has made script$i give up"
  done
  say "another version of a script: refused, both ends say which parameters differ"
  start 3 script3 "${set[@]}" -- "${run[@]}" fc.weight=12 fc.bias=3
  for ((i = 0; i < 4; i++)); do
    name=script$i
    until_true $deadline ended $name || { cat "$work/$name.err"; fail "$name does not end"; }
    [ "$(cat "$work/$name.code")" = 0 ] || { cat "$work/$name.err"; fail "$name exits with $(cat "$work/$name.code")"; }
    [ "$(field $name digest)" = "$(field script0 digest)" ] || fail "peers $i and 0 differ in the digest"
  done
  say "with the same script everywhere: trained, digest $(field script0 digest)"
}

# The user's own files: peers refuse a label that differs, and the partition "local" takes the data of each machine.
own_files() {
  local set=(--set topology.size=2 --set train.rounds=50 --set data.name=libsvm --set model.name=logistic
    --set train.batch=2 --set "node.join_secret_file=$work/secret") i
  for ((i = 0; i < 2; i++)); do
    mkdir -p "$work/own/$i"
    printf '1 1:1\n2 2:1\n1 1:3\n%d %d:2\n' $((i + 1)) $((i + 1)) >"$work/own/$i/train.libsvm"
    printf '1 1:1\n2 2:1\n' >"$work/own/$i/test.libsvm"
  done
  start 0 own0 lan-ring "${set[@]}" --set "data.dir=$work/own/0"
  start 1 own1 lan-ring "${set[@]}" --set "data.dir=$work/own/1"
  for i in own0 own1; do
    until_true 30 ended $i || fail "$i does not end"
    grep -qs "data set.fingerprint is .* here and .* there" "$work/$i.err" || { cat "$work/$i.err"; fail "$i does not name its data"; }
  done
  say "other data: refused, both ends say so"
  set+=(--set data.partition=local)
  start 0 local0 lan-ring "${set[@]}" --set "data.dir=$work/own/0"
  start 1 local1 lan-ring "${set[@]}" --set "data.dir=$work/own/1"
  for i in local0 local1; do
    until_true $deadline ended $i || fail "$i does not end"
    [ "$(cat "$work/$i.code")" = 0 ] || { cat "$work/$i.err"; fail "$i exits with $(cat "$work/$i.code")"; }
  done
  [ "$(field local0 digest)" = "$(field local1 digest)" ] || fail "local: the digests differ"
  grep -qs '"rows_per_worker":\[4,4\]' "$work/local0.out" || { cat "$work/local0.out"; fail "local: other rows"; }
  say "the partition local: each machine trains on its own rows"
}

# A peer reports missing multicast: on an interface without it, and behind a switch that drops it.
alone() {
  local small=(--set topology.size=2 --set "node.join_secret_file=$work/secret") name
  ip -n "$prefix-0" link set eth0 multicast off
  ip -n "$prefix-lan" link set port1 type bridge_slave mcast_flood off
  ip -n "$prefix-lan" link set port2 type bridge_slave mcast_flood off
  start 0 alone0 lan-ring "${small[@]}"
  start 1 alone1 lan-ring "${small[@]}"
  start 2 alone2 lan-ring "${small[@]}"
  for name in alone0 alone1 alone2; do
    until_true 30 grep -qs "heard of no other in 20s: .*multicast.*firewall.*peers:" "$work/$name.err" ||
      { cat "$work/$name.err"; fail "$name does not say what keeps it alone"; }
    stop $name
  done
  ip -n "$prefix-0" link set eth0 multicast on
  ip -n "$prefix-lan" link set port1 type bridge_slave mcast_flood on
  ip -n "$prefix-lan" link set port2 type bridge_slave mcast_flood on
  say "multicast blocked: said after 20 s"
}

make_lan
eight_peers_train
own_files
scripts
alone
strangers_are_refused
say "ok"
