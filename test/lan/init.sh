#!/usr/bin/env bash
# Sets up runs between machines with "peer init", "peer invite" and "peer join". Machines are network namespaces on one
# bridge, each with a folder, a key and a host name of its own. Four peers must train within a minute of the first key
# press. Then the script tries all that may go wrong. Needs root, iproute2 and Python. Everything that it creates has
# the prefix below, and it removes all of it at the end.
#
#   test/lan/init.sh [PEER [CASE...]]
#
# PEER is the binary to test; without it or with -, it is built. A CASE is the name of a function below; without one,
# all are tried. The case of the versions builds two more binaries, from the same sources with one line replaced.
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="init$$"
readonly peers=4
readonly limit=60       # seconds from the first key press to training on all machines
readonly deadline=120   # seconds for a whole run
here=$PWD
work=$(mktemp -d)
peer=${1:--}
[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
cases=("${@:2}")
[ ${#cases[@]} -gt 0 ] || cases=(by_hand by_flags missing_flag interrupted again_here unwritable wrong_tokens
  no_multicast late_silence other_versions other_data)

say() { printf '%s\n' "$*"; }

cleanup() {
  local i pid
  trap '' INT TERM
  for pid in $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  umount "$work"/disk/* 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap "exit 1" INT TERM

fail() {
  local f
  exec >&2
  say "FAIL: $*"
  for f in "$work"/*.err "$work"/*.tty; do [ -s "$f" ] && { say "--- ${f##*/}:"; tail -n 25 "$f"; }; done
  exit 1
}

now() { date +%s%N; }
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

# fresh gives every machine an empty folder, and ends what ran before.
fresh() {
  local i pid
  for pid in $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -f "$work"/*.{out,err,code,tty} 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do rm -rf "$work/m$i"; mkdir -p "$work/m$i"; done
}

# on MACHINE COMMAND... runs a command there, in the folder of the machine.
on() {
  local i=$1
  shift
  # shellcheck disable=SC2016  # the inner shell expands
  XDG_CONFIG_HOME="$work/key$i" LC_ALL=C.UTF-8 TERM=xterm ip netns exec "$prefix-$i" unshare --uts \
    sh -c 'hostname "$1"; cd "$2"; shift 2; exec "$@"' sh "host-$i" "${folder:-$work/m$i}" "$@"
}

# start NAME MACHINE COMMAND... does so in the background, with its output in $work/NAME.out, .err and .code.
start() {
  local name=$1
  shift
  rm -f "$work/$name".{out,err,code}
  (
    code=0
    on "$@" </dev/null >"$work/$name.out" 2>"$work/$name.err" || code=$?
    echo "$code" >"$work/$name.code"
  ) &
}

# terminal NAME MACHINE PROMPT=ANSWER... -- COMMAND... does so on a terminal, with answers typed.
terminal() {
  local name=$1 i=$2
  shift 2
  rm -f "$work/$name".{tty,code}
  (
    code=0
    on "$i" python3 "$here/test/lan/answers.py" "$work/$name.tty" "$@" </dev/null >/dev/null 2>"$work/$name.err" || code=$?
    echo "$code" >"$work/$name.code"
  ) &
}

ended() { [ -s "$work/$1.code" ]; }
ends() { # NAME CODE
  until_true $deadline ended "$1" || fail "$1 does not end"
  [ "$(cat "$work/$1.code")" = "$2" ] || fail "$1 exits with $(cat "$work/$1.code"), want $2"
}
says() { # NAME WORDS
  until_true 30 grep -qs -- "$2" "$work/$1".{err,out,tty} || fail "$1 does not say \"$2\""
  say "  $1: $(grep -hs -m 1 -- "$2" "$work/$1".{err,out,tty} | tr -d '\r' | cut -c 1-150)"
}
has_token() { grep -qs 'peer join [0-9A-Z]' "$work/$1".{out,tty}; }
token() {
  until_true 30 has_token "$1" || fail "$1 prints no token"
  { grep -hs -o 'peer join [0-9A-Z-]*' "$work/$1".{out,tty} || true; } | head -n 1 | cut -d ' ' -f 3
}
training() { grep -qs '"state":"training"' "$work/m$1"/runs/*/events.jsonl; }
all_train() { local i; for ((i = 0; i < peers; i++)); do training "$i" || return 1; done; }
digest() { cat "$work/m$1"/runs/*/summary.json | sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' | head -n 1; }
same_digests() {
  local i
  for ((i = 1; i < peers; i++)); do [ "$(digest $i)" = "$(digest 0)" ] || fail "machines $i and 0 differ in the digest"; done
  [ -n "$(digest 0)" ] || fail "there is no digest"
}
nothing_in() { [ -z "$(ls -A "$1")" ] || fail "$1 holds $(ls -A "$1")"; }
private() { [ "$(stat -c %a "$1")" = 600 ] || fail "$1 has mode $(stat -c %a "$1")"; }

answers=("Name of the run=" "Machines that take part=4" "Data:=" "slowest link=" "Rounds of training=60")

by_hand() {
  say "five answers on a terminal, and three tokens pasted"
  local i t took
  terminal first 0 "${answers[@]}" -- "$peer" init --run
  t=$(token first)
  say "  the token has ${#t} characters"
  for ((i = 1; i < peers; i++)); do start join$i $i "$peer" join "$t" --run; done
  until_true $limit all_train || fail "not all train"
  took=$(( ($(now) - $(cat "$work/first.tty.first")) / 1000000 ))
  say "  four peers train $took ms after the first key press"
  [ $took -lt $((limit * 1000)) ] || fail "later than $limit s"
  ends first 0
  for ((i = 1; i < peers; i++)); do ends join$i 0; private "$work/m$i/lan.secret"; done
  private "$work/m0/lan.secret"
  same_digests
  says first "host-[123] (.*) has joined: 4 of 4 machines are here"
}

by_flags() {
  say "flags alone, without a terminal, and peer run afterwards; a token typed at its question"
  local i t
  start first 0 "$peer" init --name flags --machines 4 --rounds 60
  t=$(token first)
  for ((i = 1; i < 3; i++)); do start join$i $i "$peer" join "$t"; done
  terminal join3 3 "Token that=$(tr 'A-Z-' 'a-z ' <<<"$t")" -- "$peer" join
  ends first 0
  for ((i = 1; i < peers; i++)); do ends join$i 0; done
  says join3 "machine [234]"
  says join1 "next: peer run flags.yaml"
  for ((i = 0; i < peers; i++)); do start run$i $i "$peer" run flags.yaml --json; done
  for ((i = 0; i < peers; i++)); do ends run$i 0; done
  same_digests
}

missing_flag() {
  say "without a terminal, a flag that is missing"
  start first 0 "$peer" init --name lan
  ends first 2
  says first "--machines is missing"
  start join1 1 "$peer" join
  ends join1 2
  says join1 "TOKEN is missing"
  nothing_in "$work/m0"
}

interrupted() {
  say "Ctrl-C among the questions, and while the token waits"
  terminal first 0 "Name of the run=" "Machines that take part=4" "Data:=^C" -- "$peer" init
  ends first 130
  nothing_in "$work/m0"
  terminal first 0 "${answers[@]}" "peer join=^C" -- "$peer" init
  ends first 130
  says first "peer invite lan.yaml makes a token"
  private "$work/m0/lan.secret"
}

again_here() {
  say "a second peer init in the same folder"
  start first 0 "$peer" init --machines 4 --no-invite
  ends first 0
  says first "next: peer invite lan.yaml"
  start second 0 "$peer" init --machines 4 --name lan --no-invite
  ends second 2
  says second "lan.yaml exists already"
  start third 0 "$peer" init --machines 4 --no-invite
  ends third 0
  says third "lan-2.yaml is the run file"
  cp "$work/m0/lan.secret" "$work/before"
  start fourth 0 "$peer" init --machines 4 --name lan --no-invite --force
  ends fourth 0
  ! cmp -s "$work/before" "$work/m0/lan.secret" || fail "the secret is not a fresh one"
  start inviter 0 "$peer" invite lan.yaml
  echo mine >"$work/m1/lan.yaml"
  start join1 1 "$peer" join "$(token inviter)"
  ends join1 1
  says join1 "lan.yaml exists already"
  says inviter "has not joined: lan.yaml exists already"
  [ "$(cat "$work/m1/lan.yaml")" = mine ] || fail "a file was replaced"
  start join1 1 "$peer" join "$(token inviter)" --force
  ends join1 0
}

unwritable() {
  say "a folder that is read-only, and a full disk"
  local t
  mkdir -p "$work/disk/full" "$work/disk/readonly"
  mount -t tmpfs -o size=8k tmpfs "$work/disk/full"
  head -c 8k /dev/zero >"$work/disk/full/filler" 2>/dev/null || true
  mount -t tmpfs -o ro tmpfs "$work/disk/readonly"
  for kind in readonly full; do
    folder=$work/disk/$kind start first 0 "$peer" init --machines 4
    ends first 1
    says first "no file can be written in this folder"
  done
  start first 0 "$peer" init --machines 4
  t=$(token first)
  for kind in readonly full; do
    folder=$work/disk/$kind start join1 1 "$peer" join "$t"
    ends join1 1
    says join1 "no file can be written in this folder"
  done
  [ "$(ls -A "$work/disk/full")" = filler ] || fail "the full disk holds $(ls -A "$work/disk/full")"
  start join1 1 "$peer" join "$t"
  ends join1 0
}

wrong_tokens() {
  say "tokens that are mistyped, used, expired"
  local t typo
  start first 0 "$peer" init --machines 4 --no-invite
  ends first 0
  start first 0 "$peer" invite lan.yaml --machines 2
  t=$(token first)
  typo=2
  [ "${t:22:1}" != 2 ] || typo=3
  typo=${t:0:22}$typo${t:23}
  start join1 1 "$peer" join "$typo"
  ends join1 2
  says join1 "a character is mistyped or missing"
  start join1 1 "$peer" join "${t:0:60}"
  ends join1 2
  says join1 "a part is missing"
  start join1 1 "$peer" join "$t"
  ends join1 0
  start join2 2 "$peer" join "$t"
  ends join2 0
  ends first 0
  start join3 3 "$peer" join "$t"
  ends join3 4
  says join3 "the token may have been used up"
  start first 0 "$peer" invite lan.yaml --machines 1 --valid 2s
  t=$(token first)
  ends first 4
  says first "the token has expired after 2s: 0 of 1 machine joined"
  start join3 3 "$peer" join "$t"
  ends join3 4
  says join3 "the token has expired at"
}

multicast() { # on or off
  local i
  for ((i = 0; i < peers; i++)); do ip -n "$prefix-lan" link set "port$i" type bridge_slave mcast_flood "$1"; done
}

no_multicast() {
  say "the switch drops multicast: the addresses in the token suffice, and the run file gets those of all"
  local i t
  multicast off
  start first 0 "$peer" init --machines 4 --rounds 60 --run
  t=$(token first)
  for ((i = 1; i < peers; i++)); do start join$i $i "$peer" join "$t" --run; done
  says first "multicast does not arrive at host-"
  until_true $limit all_train || fail "not all train"
  ends first 0
  for ((i = 1; i < peers; i++)); do ends join$i 0; done
  same_digests
  for ((i = 0; i < peers; i++)); do
    [ "$(grep -c '/ip4/10.80.0.[1-4]/tcp/4001' "$work/m$i/lan.yaml")" = 4 ] || fail "machine $i lists other addresses"
  done
  multicast on
}

late_silence() {
  say "one machine hears no multicast, after another has joined"
  local t
  start first 0 "$peer" init --machines 4
  t=$(token first)
  start join1 1 "$peer" join "$t"
  ends join1 0
  ip -n "$prefix-lan" link set port2 type bridge_slave mcast_flood off
  start join2 2 "$peer" join "$t"
  ends join2 4
  says join2 "start again with --roster"
  multicast on
}

# twisted NAME FILE FROM TO builds $work/NAME, a binary with FROM replaced by TO in a source file.
twisted() {
  local name=$1 file=$2 from=$3 to=$4
  [ ! -x "$work/$name" ] || return 0
  sed "s|$from|$to|" "$file" >"$work/$name.go"
  ! cmp -s "$file" "$work/$name.go" || fail "$file has no line $from"
  printf '{"Replace": {"%s": "%s"}}\n' "$here/$file" "$work/$name.go" >"$work/$name.json"
  go build -overlay "$work/$name.json" -o "$work/$name" ./cmd/peer
}

other_versions() {
  say "another version of the program, and of the protocol"
  local t
  twisted newer app/describe/build.go 'b.Version = info.Main.Version' 'b.Version = "v99"'
  twisted other node/handshake/hello.go '^const version = .*' 'const version = 99'
  start first 0 "$peer" init --machines 4
  t=$(token first)
  start join1 1 "$work/newer" join "$t"
  ends join1 4
  says join1 "another version of the program: here v99"
  says first "was refused: another version"
  start join2 2 "$work/other" join "$t"
  ends join2 4
  says join2 "another protocol version: theirs is [0-9]*, ours 99"
  nothing_in "$work/m1"
}

other_data() {
  say "data of one's own: missing, other ones, and in another place"
  local t i
  for ((i = 0; i < 200; i++)); do echo "$((i % 7)),$((i % 5)),$((i % 2))"; done | sed '1i a,b,label' >"$work/m0/own.csv"
  start first 0 "$peer" init --machines 4 --data own.csv
  t=$(token first)
  start join1 1 "$peer" join "$t"
  ends join1 3
  says join1 "name them: peer join TOKEN --set data.path=PATH"
  sed 's/^0,/1,/' "$work/m0/own.csv" >"$work/m1/other.csv"
  start join1 1 "$peer" join "$t" --set data.path=other.csv
  ends join1 1
  says join1 "the data differ: data set.fingerprint is"
  says first "has not joined: .*the data differ"
  cp "$work/m0/own.csv" "$work/m1/same.csv"
  start join1 1 "$peer" join "$t" --set data.path=same.csv
  ends join1 0
  start join2 2 "$peer" join "$t" --set algorithm.bits=4
  ends join2 2
  says join2 "the machine that invites says that, for all"
}

ip netns add "$prefix-lan"
cable_peers 10.80.0
began=$SECONDS
for case in "${cases[@]}"; do fresh; "$case"; done
say "ok, in $((SECONDS - began)) s"
