#!/usr/bin/env bash
# Interrupts four peers in network namespaces at random times and resumes them. Each try must end with the digest of the
# simulator, or the script fails. Needs root and iproute2. The script removes everything that it creates.
#
#   test/lan/interrupt.sh [PEER [TRIES [KIND...]]]
#
# PEER is the binary to test, - builds it. TRIES is how often each kind is tried, half of the times with eight busy
# loops beside the peers. The kind "one" sends SIGINT to one peer, "all" to all at once, and "first" to one peer in its
# first round. The kind "crash" sends SIGKILL to one peer, then SIGINT to the rest; "again" sends SIGINT once more while
# they resume. The kinds choco, d2, allreduce and adpsgd are like "one", with that algorithm. The default is "one".
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/lan/namespaces.sh

readonly prefix="halt$$"
readonly peers=4
readonly deadline=200 # seconds for one run to its end
readonly leave=2500  # milliseconds from the signal to the end of the last process; other kinds add to it
work=$(mktemp -d)
peer=${1:--}
tries=${2:-100}
kinds=("${@:3}")
[ ${#kinds[@]} -gt 0 ] || kinds=(one)
[ "$peer" != - ] || { peer=$work/peer; go build -o "$peer" ./cmd/peer; }
loops=()
declare -A pids

say() { printf '%s\n' "$*"; }

end_loops() {
  [ ${#loops[@]} -eq 0 ] || kill -KILL "${loops[@]}" 2>/dev/null || true
  loops=()
}

cleanup() {
  local i
  trap '' INT TERM
  end_loops
  for i in "${!pids[@]}"; do kill -KILL "${pids[$i]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for ((i = 0; i < peers; i++)); do ip netns delete "$prefix-$i" 2>/dev/null || true; done
  ip netns delete "$prefix-lan" 2>/dev/null || true
  [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap cleanup EXIT
trap "exit 1" INT TERM

# fail shows the output of the peers.
fail() {
  local i
  say "FAIL: $*"
  for ((i = 0; i < peers; i++)); do
    say "--- peer $i, interrupted:"; tail -n 6 "$work/try/$i.err" 2>/dev/null || true
    say "--- peer $i, resumed:"; tail -n 6 "$work/try/$i.again.err" 2>/dev/null || true
  done
  exit 1
}

make_lan() {
  ip netns add "$prefix-lan"
  cable_peers 10.78.0
}

# A roster saves the seconds that discovery takes.
make_roster() {
  local i id
  roster="peers: ["
  for ((i = 0; i < peers; i++)); do
    "$peer" id new --key "$work/key$i" >/dev/null 2>&1
    id=$("$peer" id show --json --key "$work/key$i" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
    roster+="{id: $id, addrs: [/ip4/10.78.0.$((i + 1))/tcp/4001]}, "
  done
  roster="${roster%, }]"
}

# run_file KIND writes the run file of a kind of try. A run takes a few seconds.
run_file() {
  local algorithm="{name: dpsgd}" rounds=1500
  case $1 in
    choco) algorithm="{name: choco, gamma: 0.5, compressor: {name: topk}}" ;;
    d2) algorithm="{name: d2}" ;;
    allreduce) algorithm="{name: allreduce}" rounds=400 ;;
    adpsgd) algorithm="{name: adpsgd}" ;;
  esac
  cat >"$work/$1.yaml" <<END
name: halt
topology: {kind: ring, size: $peers, slack: 0.6}
algorithm: $algorithm
model: {name: quadratic, dim: 200}
train: {rounds: $rounds, step_size: 0.05, momentum: 0, schedule: constant}
output: {every: 50}
$roster
END
}

# start PEER FILE NAME ARGUMENT... starts a peer; its output goes to NAME.out and NAME.err of the try.
start() {
  local i=$1 file=$2 name=$3
  shift 3
  ip netns exec "$prefix-$i" "$peer" run "$file" --json --set "output.dir=$work/try/runs$i" --set "node.key=$work/key$i" \
    --set "node.listen=[/ip4/10.78.0.$((i + 1))/tcp/4001]" "$@" >"$work/try/$name.out" 2>"$work/try/$name.err" &
  pids[$i]=$!
}

# until_true SECONDS COMMAND... waits for a command to succeed.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}

gone() {
  local i
  for i in "${!pids[@]}"; do ! kill -0 "${pids[$i]}" 2>/dev/null || return 1; done
}
training() { grep -qs '"state":"training"' "$work/try/runs$1"/*/events.jsonl; }
all_training() { local i; for ((i = 0; i < peers; i++)); do training $i || return 1; done; }
in_first_round() { grep -qs . "$work/try/runs$1"/*/checkpoints/rank-*/round-*/manifest.json; }
random() { awk -v seed=$RANDOM$RANDOM -v low="$1" -v high="$2" 'BEGIN {srand(seed); printf "%.3f", low + rand() * (high - low)}'; }
now() { echo $(($(date +%s%N) / 1000000)); }

# interrupt KIND sends the signals of a kind.
interrupt() {
  local kind=$1 i victim=$((RANDOM % peers))
  case $kind in
    first) until_true 30 in_first_round $victim || fail "no first round" ;;
    *) until_true 30 all_training || fail "no training"; sleep "$(random 0 1.2)" ;;
  esac
  if [ "$kind" = crash ]; then
    kill -KILL "${pids[$victim]}" 2>/dev/null || true
    sleep "$(random 0 1)"
  fi
  began=$(now)
  for ((i = 0; i < peers; i++)); do
    case $kind in
      all) ;;
      crash) [ $i != $victim ] || continue ;;
      *) [ $i = $victim ] || continue ;;
    esac
    kill -INT "${pids[$i]}" 2>/dev/null || true
  done
  if ! until_true 5 gone; then # a peer without a link was not told, and waits
    for i in "${!pids[@]}"; do kill -INT "${pids[$i]}" 2>/dev/null || true; done
    until_true 20 gone || fail "$kind: a peer does not leave"
    untold=$((untold + 1))
  fi
  took=$(($(now) - began))
  pids=()
}

# named KIND NAME collects the rounds that the peers report as safe.
named() {
  local i round
  rounds=""
  for ((i = 0; i < peers; i++)); do
    round=$(sed -n 's/^the state at the beginning of rounds\{0,1\} \([0-9]*\).*/\1/p' "$work/try/$i$2.err")
    if [ -z "$round" ] && grep -qs '"digest"' "$work/try/$i$2.out"; then round=end; fi
    if [ -z "$round" ] && [ "$1" = crash ] && ! grep -qs "stopped" "$work/try/$i$2.err"; then round=killed; fi
    [ -n "$round" ] || { rounds="$rounds none"; continue; }
    rounds="$rounds $round"
  done
  case $rounds in *none*) fail "$1: a peer names no safe round:$rounds" ;; esac
}

resume() {
  local i
  for ((i = 0; i < peers; i++)); do start $i "$work/$1.yaml" "$i$2" --resume; done
}

# one_try KIND NUMBER
one_try() {
  local kind=$1 file=$1 i want digest first
  case $kind in all | first | crash | again) file=one ;; esac
  rm -rf "$work/try"
  mkdir -p "$work/try"
  for ((i = 0; i < peers; i++)); do start $i "$work/$file.yaml" $i; done
  interrupt "$kind"
  named "$kind" ""
  case $rounds in *end*) return 1 ;; esac # the run ended before the signal
  first="left after $took ms, rounds$rounds"
  if [ "$kind" = again ]; then
    resume "$file" .again
    sleep "$(random 0.2 1)"
    interrupt one
    named again .again
    case $rounds in *end*) return 1 ;; esac
    first="$first; again after $took ms, rounds$rounds"
  fi
  [ "$took" -le "$leave" ] || slow=$((slow + 1))
  resume "$file" .again
  until_true $deadline gone || fail "$kind: the resumed run does not end"
  pids=()
  for ((i = 0; i < peers; i++)); do
    digest=$(sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' "$work/try/$i.again.out")
    [ -n "$digest" ] || fail "$kind: peer $i does not end"
    [ "$kind" = adpsgd ] || [ "$digest" = "${digests[$file]}" ] || fail "$kind: digest $digest, simulated ${digests[$file]}"
  done
  held=$((held + 1))
  say "$kind $2: $first; resumed, digest ${digest:0:8}"
}

declare -A digests
make_lan
make_roster
for kind in one "${kinds[@]}"; do
  run_file "$kind"
  digests[$kind]=$("$peer" sim "$work/$kind.yaml" --json --quiet --set "output.dir=$work/sim" |
    sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p')
done
for kind in "${kinds[@]}"; do
  held=0 slow=0 untold=0
  for ((n = 1; n <= tries; n++)); do
    [ $n != $((tries / 2 + 1)) ] || for ((i = 0; i < 8; i++)); do (while :; do :; done) & loops+=($!); disown $!; done
    for again in 1 2 3 4 5; do ! one_try "$kind" $n || break; done
  done
  end_loops
  say "$kind: $held of $tries went on to the digest of the simulator, $slow left later than $leave ms, $untold had to be interrupted one by one"
done
say "ok"
