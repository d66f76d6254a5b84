#!/usr/bin/env bash
# One search by one process, by several, on disk, and by SPIN on several cores, in one run. Arguments: [PHILOSOPHERS [PROCESSES..]]. `THREADPROOF` names another build of the program.
# Prints for each way: states, seconds of the clock and of all processors, states per processor second. SPIN is Debian's package; without it, its lines are left out.
set -e
cd "$(dirname "$0")/.."
n=${1:-8}; shift || true
processes=("${@:-1 2 4}")
program=${THREADPROOF:-./threadproof}
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT='%R %U %S'

line() { # NAME STATES TIMES
    awk -v name="$1" -v states="$2" -v times="$3" 'BEGIN {
        split(times, t); cpu = t[2] + t[3]
        printf "%-34s %12d states %9.2f s %9.2f s of processors %10.0f states/s\n", name, states, t[1], cpu, states / (cpu > 0 ? cpu : 0.01) }'
}

ours() { # NAME OPTIONS..
    local name=$1; shift
    local times
    times=$({ time "$program" verify benches/models/philosophers.tp --set "N=$n" --method explore --workers 1 --option por=off --option symmetry=off \
        --option dead=off --json --time 1h "$@" > "$scratch/out.json" 2> "$scratch/messages"; } 2>&1) || true
    line "$name" "$(grep -o '"states": [0-9]*' "$scratch/out.json" | head -1 | tr -dc 0-9)" "$times"
}

"$program" --version > "$scratch/version" # builds it, if need be
for p in ${processes[*]}; do ours "threadproof, processes: $p" --processes "$p"; done
ours "threadproof, levels logged" --processes 1 --checkpoint "$scratch/levels"
ours "threadproof, on disk, 256 MB" --disk "$scratch/states" --memory 256M

theirs() { # NAME FLAGS..
    local name=$1; shift
    (cd "$scratch" && spin -a "-DN=$n" "$model" > spin.log && gcc -O2 -DSAFETY -DNOREDUCE "$@" -o pan pan.c 2> gcc.log) || { echo "$name: could not be made"; return; }
    local times
    times=$(cd "$scratch" && { time ./pan -E -n -m200000 -w26 > pan.log 2> pan.messages; } 2>&1) || true
    line "$name" "$(awk '/states, stored/ { print int($1); exit }' "$scratch/pan.log")" "$times"
}
model=$PWD/benches/models/philosophers.pml
if command -v spin > "$scratch/where"; then
    theirs "spin" -DMEMLIM=4000
    theirs "spin, 2 cores, depth first" -DNCORE=2 -DMEMLIM=4000 -DFULL_TRAIL
    theirs "spin, parallel breadth first" -DBFS_PAR -DMEMLIM=4000
fi
