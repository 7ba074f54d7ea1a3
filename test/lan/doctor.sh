#!/usr/bin/env bash
# Breaks one thing after another between machines and checks that "peer doctor" names each, with its fix. Machines
# are network namespaces on one bridge. Needs root and iproute2. Everything the script creates has the prefix below, and
# it removes all of it at the end.
#
#   test/lan/doctor.sh [PEER [CASE...]]
#
# PEER is the binary to test; without it or with -, it is built. A CASE is the name of a function below; without one,
# all are tried.
#
# The case of the clock and that of the versions need other binaries. The script builds them from the same sources with
# one line replaced (go build -overlay), in which the clock is a day ahead, or the protocol has another number.
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="doctor$$"
readonly peers=3
readonly limit=20       # seconds for one doctor, which promises 10 on a machine that is not busy
work=$(mktemp -d)
peer=${1:--}
[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
cases=("${@:2}")
[ ${#cases[@]} -gt 0 ] || cases=(healthy multicast_dropped one_direction_dropped mtu_1200 clock_off port_taken
  secret_readable data_missing other_versions)

say() { printf '%s\n' "$*"; }

cleanup() {
  local i pid
  trap '' INT TERM
  for pid in $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap "exit 1" INT TERM

fail() {
  local i
  say "FAIL: $*"
  for ((i = 0; i < peers; i++)); do say "--- machine $i:"; cat "$work/$i.out" "$work/$i.err" 2>/dev/null || true; done
  exit 1
}

# twisted NAME FILE FROM TO builds $work/NAME, a binary with FROM replaced by TO in a source file.
twisted() {
  local name=$1 file=$2 from=$3 to=$4
  sed "s|$from|$to|" "$file" >"$work/$name.go"
  ! cmp -s "$file" "$work/$name.go" || fail "$file has no line $from"
  printf '{"Replace": {"%s": "%s"}}\n' "$PWD/$file" "$work/$name.go" >"$work/$name.json"
  go build -overlay "$work/$name.json" -o "$work/$name" ./cmd/peer
}

make_lan() {
  local i
  ip netns add "$prefix-lan"
  cable_peers 10.79.0
  "$peer" id secret "$work/lan.secret" 2>/dev/null
  for ((i = 0; i < peers; i++)); do "$peer" id new --key "$work/key$i" >/dev/null 2>&1; done
  cat >"$work/lan.yaml" <<END
name: doctored
topology: {kind: ring, size: $peers}
node: {join_secret_file: $work/lan.secret}
END
  { cat "$work/lan.yaml"; roster; } >"$work/roster.yaml"
}

roster() {
  local i id
  echo "peers:"
  for ((i = 0; i < peers; i++)); do
    id=$("$peer" id show --json --key "$work/key$i" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
    echo "  - {id: $id, addrs: [/ip4/10.79.0.$((i + 1))/tcp/4001]}"
  done
}

# start MACHINE BINARY ARGUMENT... starts a doctor there. Its output is in $work/MACHINE.out, .err and .code.
start() {
  local i=$1 binary=$2
  shift 2
  rm -f "$work/$i".{out,err,code}
  (
    code=0
    # shellcheck disable=SC2016  # the inner shell expands
    cd "$work" && XDG_CONFIG_HOME="$work/$i" ip netns exec "$prefix-$i" unshare --uts \
      sh -c 'hostname "$1"; shift; exec "$@"' sh "host-$i" timeout -s QUIT -k 5 "$limit" "$binary" doctor \
      --set "node.key=$work/key$i" --set "node.listen=[/ip4/10.79.0.$((i + 1))/tcp/4001]" "$@" \
      >"$work/$i.out" 2>"$work/$i.err" || code=$?
    echo "$code" >"$work/$i.code"
  ) &
}

# examine FILE ARGUMENT... runs a doctor on all machines.
examine() {
  local i
  for ((i = 0; i < peers; i++)); do start "$i" "$peer" --peers "$@"; done
  wait
}

# says MACHINE VERDICT CHECK WORDS: that machine's doctor has such a row, with a fix below it.
says() {
  local line
  line=$(grep -n -- "^$2 *$3  *.*$4" "$work/$1.out" | head -n 1 || true)
  [ -n "$line" ] || fail "machine $1: no row \"$2 $3 ... $4\""
  [ "$2" = ok ] || sed -n "$((${line%%:*} + 1))p" "$work/$1.out" | grep -q "fix: ..." || fail "machine $1: no fix for $3"
  say "  machine $1: $(sed 's/^[0-9]*://; s/  */ /g' <<<"$line" | cut -c 1-170)"
}

# ends MACHINE CODE: that doctor has ended with an exit code.
ends() { [ "$(cat "$work/$1.code")" = "$2" ] || fail "machine $1 exits with $(cat "$work/$1.code"), want $2"; }

healthy() {
  say "all is well, without and with a roster"
  local i file
  for file in lan.yaml roster.yaml; do
    examine $file
    for ((i = 0; i < peers; i++)); do
      ends $i 0
      says $i ok peers "2 of 2 other machines met"
      says $i ok firewall "both directions"
      says $i ok packets "1500 bytes pass"
    done
    says 0 ok multicast "2 of 2 other machines heard"
    says 0 ok links "bit/s"
  done
}

multicast_dropped() {
  say "multicast dropped by the switch, at one cable and at all"
  local i
  ip -n "$prefix-lan" link set port1 type bridge_slave mcast_flood off
  examine lan.yaml --wait 4s
  says 1 broken multicast "multicast of host-0 .* does not arrive here"
  says 0 broken multicast "multicast from here does not arrive at host-1"
  for ((i = 0; i < peers; i++)); do ip -n "$prefix-lan" link set "port$i" type bridge_slave mcast_flood off; done
  examine lan.yaml --wait 4s
  says 0 broken multicast "no other machine of this run was heard of"
  examine roster.yaml --wait 4s
  ends 0 0
  says 0 ok multicast "does not arrive here.*does not need it"
  for ((i = 0; i < peers; i++)); do ip -n "$prefix-lan" link set "port$i" type bridge_slave mcast_flood on; done
  ip -n "$prefix-0" link set eth0 multicast off
  start 0 "$peer" lan.yaml --wait 1s
  wait
  says 0 broken multicast "no interface that is up passes multicast"
  ip -n "$prefix-0" link set eth0 multicast on
}

# A wrong entry for the cable address of machine 1 makes all that machine 0 sends to it vanish. The other way works.
one_direction_dropped() {
  say "packets from machine 0 to machine 1 dropped"
  ip -n "$prefix-0" neigh replace 10.79.0.2 lladdr 02:00:00:00:00:01 nud permanent dev eth0
  examine roster.yaml
  ends 0 1
  says 0 broken firewall "packets from worker 1 arrive here, and those from here do not arrive there"
  says 1 broken firewall "multicast of worker 0 arrives here, and nothing that it sends to this machine alone"
  says 2 ok firewall "both directions"
  ip -n "$prefix-0" neigh delete 10.79.0.2 dev eth0
}

mtu_1200() {
  say "MTU 1200 at the switch, then at an interface"
  ip -n "$prefix-lan" link set port1 mtu 1200
  examine roster.yaml
  says 0 broken packets "1500 bytes.*worker 1"
  says 1 broken packets "1500 bytes.*worker 0"
  ip -n "$prefix-lan" link set port1 mtu 1500
  ip -n "$prefix-1" link set eth0 mtu 1200
  examine roster.yaml
  says 1 look MTU "eth0 takes packets of 1200 bytes at most"
  says 0 look packets "least MTU here is 1500, and 1200 on worker 1 on host-1"
  start 1 "$peer" roster.yaml --wait 1s --set node.transport=quic --set 'node.listen=[/ip4/10.79.0.2/udp/4001/quic-v1]'
  wait
  says 1 broken MTU "QUIC"
  ip -n "$prefix-1" link set eth0 mtu 1500
}

clock_off() {
  say "the clock of machine 2 is a day ahead"
  start 0 "$peer" --peers roster.yaml
  start 1 "$peer" --peers roster.yaml
  start 2 "$work/tomorrow" --peers roster.yaml
  wait
  says 0 look clocks "the clock of worker 2 on host-2 is 2[34]h.* ahead of this one"
  says 2 look clocks "worker 1 on host-1 is 2[34]h.* behind this one: most others agree, so this one seems to be wrong"
}

port_taken() {
  say "another program has the port of machine 0"
  ip netns exec "$prefix-0" python3 -c 'import socket, time
s = socket.create_server(("10.79.0.1", 4001))
time.sleep(60)' &
  local holder=$!
  for ((i = 0; i < 100; i++)); do
    [ -z "$(ip netns exec "$prefix-0" cat /proc/net/tcp | grep ':0FA1 ')" ] || break
    sleep 0.1
  done
  start 0 "$peer" roster.yaml --wait 2s
  while [ ! -s "$work/0.code" ]; do sleep 0.1; done
  kill $holder 2>/dev/null || true
  wait
  ends 0 1
  says 0 broken port "4001.*address already in use"
}

secret_readable() {
  say "the secret of machine 0 is readable by all, that of machine 1 is another one"
  cp "$work/lan.secret" "$work/open.secret"
  chmod 644 "$work/open.secret"
  "$peer" id secret "$work/other.secret" 2>/dev/null
  start 0 "$peer" lan.yaml --set "node.join_secret_file=$work/open.secret" --wait 4s
  start 1 "$peer" lan.yaml --set "node.join_secret_file=$work/other.secret" --wait 4s
  start 2 "$peer" lan.yaml --wait 4s
  wait
  ends 0 1
  says 0 broken secret "mode 0644 lets others read it"
  grep -q "fix: .*chmod 600 .*open.secret" "$work/0.out" || fail "machine 0 does not say chmod 600"
  says 1 broken secret "another join secret on"
}

data_missing() {
  say "machine 0 has no data, machine 1 has other settings"
  start 0 "$peer" lan.yaml --set data.name=fashion-mnist --set "data.dir=$work/none" --wait 1s
  wait
  ends 0 1
  says 0 broken data "fashion-mnist: .*not found in"
  grep -q "fix: peer data fetch fashion-mnist" "$work/0.out" || fail "machine 0 does not say peer data fetch"
  start 0 "$peer" lan.yaml --wait 4s
  start 1 "$peer" lan.yaml --wait 4s --set train.rounds=77
  wait
  says 1 broken settings "train.rounds is 77 here and .* on host-0"
}

other_versions() {
  say "machine 2 has a program with another protocol"
  start 0 "$peer" --peers roster.yaml
  start 1 "$peer" --peers roster.yaml
  start 2 "$work/newer" --peers roster.yaml
  wait
  ends 0 1
  says 0 broken versions "worker 2 speaks another protocol version: theirs is 99"
  says 2 broken versions "worker 0 speaks another protocol version: theirs is"
  says 0 broken peers "1 of 2 other machines met"
}

twisted tomorrow app/doctor/system.go 'return time.Now() }' 'return time.Now().Add(24 * time.Hour) }'
twisted newer node/handshake/hello.go '^const version = .*' 'const version = 99'
make_lan
began=$SECONDS
for case in "${cases[@]}"; do "$case"; done
say "ok, in $((SECONDS - began)) s"
