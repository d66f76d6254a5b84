#!/usr/bin/env bash
# Shape: from `object` source to checked verdict, any number of threads, beside the figures measured for TVLA with heap decomposition
# (user CPU and peak memory of its own runs on its own models; those of the stack leave out the retry of push and the empty pop).
# Usage: benches/shape.sh [TOOL]; without TOOL the release build is made and used.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:-}
if [ -z "$tool" ]; then
  cargo build --release -q
  tool=target/release/threadproof
fi
printf '%-28s %-8s %9s %9s %10s %9s %8s\n' object verdict 'CPU s' 'MB' 'TVLA CPU s' 'TVLA MB' factor
row() { # file, TVLA's seconds, TVLA's megabytes ("-": none measured), runs of which the mean is taken
  local out cpu kb verdict
  out=$(mktemp)
  verdict=$( { /usr/bin/time -f '%M' -o "$out" "$tool" verify --method shape --time 600 "corpus/$1.tp" || true; } | head -1 | sed 's/.*: //; s/ (.*//')
  kb=$(tail -1 "$out")
  cpu=$( { TIMEFORMAT='%3U %3S'; time for _ in $(seq "$4"); do "$tool" verify --method shape --time 600 "corpus/$1.tp" > /dev/null 2>&1 || true; done; } 2>&1 )
  rm -f "$out"
  awk -v name="$(basename "$1")" -v verdict="$verdict" -v cpu="$cpu" -v runs="$4" -v kb="$kb" -v them="$2" -v mb="$3" 'BEGIN {
    split(cpu, part, " "); each = (part[1] + part[2]) / runs
    factor = (them == "-") ? "-" : sprintf("%.0f", them / each)
    printf "%-28s %-8s %9.4f %9.1f %10s %9s %8s\n", name, verdict, each, kb / 1024, them, mb, factor
  }'
}
dir=seeds/thread-quantification
row $dir/treiber 10.9 212 20
row $dir/two_lock_queue 23.4 259 20
row $dir/doherty_queue 132.9 497 20
row $dir/michael_scott_queue 616.5 723 20
row lockfree/hand_over_hand_set - - 1
