#!/usr/bin/env bash
# One search by one process, by several, on disk, and by SPIN on several cores, in one run. Arguments: [PHILOSOPHERS [PROCESSES..]]. `THREADPROOF` names another build of the program.
# Prints for each way: states, seconds of the clock and of all processors, states per processor second, and the peak memory of the largest process. SPIN is Debian's package; without it, its lines are left out.
set -e
cd "$(dirname "$0")/.."
n=${1:-8}; shift || true
processes=("${@:-1 2 4}")
program=${THREADPROOF:-./threadproof}
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT

# Runs a command quietly; prints seconds of the clock, of processors (all processes that it waited for), and kilobytes of the largest of them.
measured() { # OUTPUT MESSAGES COMMAND..
    python3 -c 'import resource, subprocess, sys, time
begin = time.time()
subprocess.run(sys.argv[3:], stdout=open(sys.argv[1], "w"), stderr=open(sys.argv[2], "w"), check=False)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.time() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss)' "$@"
}

line() { # NAME STATES TIMES
    awk -v name="$1" -v states="$2" -v times="$3" 'BEGIN {
        split(times, t)
        printf "%-34s %12d states %9.2f s %9.2f s of processors %10.0f states/s %8.0f MB\n", name, states, t[1], t[2], states / (t[2] > 0 ? t[2] : 0.01), t[3] / 1024 }'
}

ours() { # NAME OPTIONS..
    local name=$1; shift
    local times
    times=$(measured "$scratch/out.json" "$scratch/messages" "$program" verify benches/models/philosophers.tp --set "N=$n" --method explore --workers 1 \
        --option por=off --option symmetry=off --option dead=off --json --time 1h "$@")
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
    times=$(cd "$scratch" && measured pan.log pan.messages ./pan -E -n -m200000 -w26)
    line "$name" "$(awk '/states, stored/ { print int($1); exit }' "$scratch/pan.log")" "$times"
}
model=$PWD/benches/models/philosophers.pml
if command -v spin > "$scratch/where"; then
    theirs "spin" -DMEMLIM=4000
    theirs "spin, 2 cores, depth first" -DNCORE=2 -DMEMLIM=4000 -DFULL_TRAIL
    theirs "spin, parallel breadth first" -DBFS_PAR -DMEMLIM=4000
    # Swarm: small runs with different orders and hash functions, each with bit-state hashing; together they cover a part and prove nothing.
    (cd "$scratch" && spin -a "-DN=$n" "$model" > spin.log && gcc -O2 -DSAFETY -DNOREDUCE -DBITSTATE -DRANDOMIZE=7 -o pan pan.c 2> gcc.log) || exit 0
    for seed in 1 2; do
        times=$(cd "$scratch" && measured pan.log pan.messages ./pan -E -n -m200000 -w24 "-RS$seed")
        line "spin, swarm member $seed (bit-state)" "$(awk '/states, stored/ { print int($1); exit }' "$scratch/pan.log")" "$times"
    done
fi
