#!/usr/bin/env bash
# Starts peers on machines whose addresses are out of the ordinary: a roster without node.listen, short packets, no
# address but link-local ones, loopback. Each case works, or the peers say at once why not. Machines are network namespaces
# on one bridge. Needs root and iproute2. Everything the script creates has the prefix below, and it removes all of it at
# the end.
#
#   test/lan/addresses.sh [PEER [CASE...]]
#
# PEER is the binary to test; without it or with -, it is built. A CASE is the name of a function below; without one,
# all are tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="addr$$"
readonly peers=3
readonly limit=30 # seconds for one run
work=$(mktemp -d)
peer=${1:--}
[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
cases=("${@:2}")
[ ${#cases[@]} -gt 0 ] || cases=(roster_without_listen port_taken forwarded short_packets short_packets_quic
  lost_long_packets link_local_only link_local_of_ipv4 ipv6_only loopback_stays)

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

id() { "$peer" id show --json --key "$work/key$1" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p'; }

make_lan() {
  local i
  ip netns add "$prefix-lan"
  cable_peers 10.84.0
  "$peer" id secret "$work/lan.secret" 2>/dev/null
  for ((i = 0; i < peers; i++)); do "$peer" id new --key "$work/key$i" >/dev/null 2>&1; done
  cat >"$work/lan.yaml" <<END
name: addresses
topology: {kind: ring, size: $peers}
model: {name: quadratic, dim: 200}
train: {rounds: 60}
node: {join_secret_file: $work/lan.secret}
END
  { cat "$work/lan.yaml"; roster 10.84.0 4001; } >"$work/roster.yaml"
}

roster() { # SUBNET PORT
  local i
  echo "peers:"
  for ((i = 0; i < peers; i++)); do echo "  - {id: $(id $i), addrs: [/ip4/$1.$((i + 1))/tcp/$2]}"; done
}

# start MACHINE ARGUMENT... starts a peer there. Its output is in $work/MACHINE.out, .err and .code.
start() {
  local i=$1
  shift
  (
    code=0
    # shellcheck disable=SC2016  # the inner shell expands
    cd "$work" && XDG_CONFIG_HOME="$work/$i" ip netns exec "$prefix-$i" unshare --uts \
      sh -c 'hostname "$1"; shift; exec "$@"' sh "host-$i" timeout -s INT -k 5 "$limit" "$peer" run \
      --set "node.key=$work/key$i" --set "output.dir=$work/runs$i" --json "$@" \
      >"$work/$i.out" 2>"$work/$i.err" || code=$?
    echo "$code" >"$work/$i.code"
  ) &
}

all() { # ARGUMENT... starts a peer on each machine and waits for all
  local i
  for ((i = 0; i < peers; i++)); do start "$i" "$@"; done
  wait
}

ends() { [ "$(cat "$work/$1.code")" = "$2" ] || fail "machine $1 exits with $(cat "$work/$1.code"), want $2"; }
says() { grep -qs -- "$2" "$work/$1.err" || fail "machine $1 does not say \"$2\""; }
all_train() {
  local i
  for ((i = 0; i < peers; i++)); do
    ends $i 0
    ! grep -qs "zeroconf\|swarm2\|sys_conn" "$work/$i.err" || fail "machine $i shows the log of a library"
  done
}
addresses() { # add|del FORMAT: %d is the number of the machine
  local i
  # shellcheck disable=SC2059  # the format is an argument
  for ((i = 0; i < peers; i++)); do ip -n "$prefix-$i" address "$1" "$(printf "$2" $((i + 1)))" dev eth0 ${3:-}; done
}
mtu() { local i; for ((i = 0; i < peers; i++)); do ip -n "$prefix-$i" link set eth0 mtu "$1"; done; }

roster_without_listen() {
  say "a roster with addresses, and no node.listen"
  all roster.yaml
  all_train
  grep -q "10.84.0.1/tcp/4001" "$work/0.err" || fail "machine 0 does not listen at its address of the roster"
}

port_taken() {
  say "another program has the port of the roster"
  ip netns exec "$prefix-0" timeout "$limit" python3 -c 'import socket, time
s = socket.create_server(("10.84.0.1", 4001))
time.sleep(60)' &
  local holder=$!
  until ip netns exec "$prefix-0" cat /proc/net/tcp | grep -q ':0FA1 '; do sleep 0.1; done
  rm -f "$work/0.code"
  start 0 roster.yaml
  until [ -s "$work/0.code" ]; do sleep 0.1; done
  kill "$holder"
  wait
  ends 0 4
  says 0 "10.84.0.1/tcp/4001.*address already in use"
  says 0 "ss -lntup names it"
}

forwarded() {
  say "a roster of addresses that a router forwards"
  { cat "$work/lan.yaml"; roster 10.85.0 4001; } >"$work/forwarded.yaml"
  rm -f "$work/0.code"
  start 0 forwarded.yaml
  local end=$((SECONDS + limit / 2))
  until ip netns exec "$prefix-0" cat /proc/net/tcp | grep -q ' 00000000:0FA1 '; do
    [ $SECONDS -lt $end ] || fail "machine 0 does not listen at port 4001 of all interfaces"
    sleep 0.1
  done
  says 0 "10.85.0.1/tcp/4001.*which no interface here has"
  ip netns pids "$prefix-0" | xargs -r kill -INT
  wait
}

short_packets() {
  say "an MTU of 1200 everywhere, which switches IPv6 off"
  mtu 1200
  all lan.yaml
  mtu 1500
  all_train
}

short_packets_quic() {
  say "the same with QUIC"
  mtu 1200
  all lan.yaml --set node.transport=quic
  mtu 1500
  ends 0 4
  says 0 "eth0 takes packets of 1200 bytes at most, and QUIC needs 1280"
}

lost_long_packets() {
  say "a switch that loses packets above 600 bytes"
  ip -n "$prefix-lan" link set port1 mtu 600
  all lan.yaml --set model.dim=200000
  ip -n "$prefix-lan" link set port1 mtu 1500
  says 0 "long packets are lost on the way (MTU)"
}

link_local_only() {
  say "a cable without addresses but link-local ones"
  addresses del "10.84.0.%d/24"
  all lan.yaml
  addresses add "10.84.0.%d/24"
  local i
  for ((i = 0; i < peers; i++)); do
    ends $i 4
    says $i "this machine has only link-local addresses (fe80:.* on eth0)"
    says $i "ip address add 192.168.77.1/24 dev eth0"
  done
}

link_local_of_ipv4() {
  say "link-local addresses of IPv4"
  addresses del "10.84.0.%d/24"
  addresses add "169.254.9.%d/16"
  all lan.yaml
  addresses del "169.254.9.%d/16"
  addresses add "10.84.0.%d/24"
  all_train
}

ipv6_only() {
  say "addresses of IPv6 only, over TCP and QUIC"
  addresses del "10.84.0.%d/24"
  addresses add "fd00:84::%d/64" nodad
  all lan.yaml
  all_train
  all lan.yaml --set node.transport=quic
  all_train
  addresses del "fd00:84::%d/64"
  addresses add "10.84.0.%d/24"
}

# Two peers of machine 0 listen on loopback only. A peer of machine 1 hears nothing of them, and they find each other.
loopback_stays() {
  say "peers on loopback: those of one machine find each other, other machines do not learn of them"
  local run=(lan.yaml --set topology.size=2 --set node.security=none -v -v)
  timeout $((limit / 2)) ip netns exec "$prefix-1" "$peer" run "$work/lan.yaml" "${run[@]:1}" \
    --set "node.key=$work/key1" --set "output.dir=$work/runs1" >"$work/1.out" 2>"$work/1.err" &
  start 0 "${run[@]}"
  sleep 1
  local code=0
  ip netns exec "$prefix-0" timeout "$limit" "$peer" run "$work/lan.yaml" "${run[@]:1}" --set "node.key=$work/key2" \
    --set "output.dir=$work/runs2" >"$work/2.out" 2>"$work/2.err" || code=$?
  wait
  [ $code = 0 ] || fail "the second peer of machine 0 exits with $code"
  ends 0 0
  ! grep -q "no call" "$work/1.err" || fail "machine 1 calls loopback addresses of machine 0"
}

make_lan
for case in "${cases[@]}"; do "$case"; done
say "ok"
