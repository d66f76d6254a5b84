#!/usr/bin/env bash
# Threader's table: `horn` by trees, with the modular bias and without, beside Z3's Spacer on the same programs as one
# product system (`--bias none --option clauses=spacer`), one after the other in one run, on one core.
#
# usage: benches/horn.sh [SECONDS]      the limit of each run, 60 unless given
# Times are user CPU seconds of the whole command: reading, proof, and the check of the certificate by cvc5 included.
set -eu
cd "$(dirname "$0")/.."
limit=${1:-60}
cargo build --release --quiet -p threadproof
tool=target/release/threadproof
rows="fig2_cex fig2_fixed fig4_cex fig4_fixed bluetooth2 bluetooth2_fixed bluetooth3_fixed scull dekker peterson
      readers_writer_lock time_varying_mutex szymanski naive_bakery bakery lamport qrcu"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# One run: verdict and user time.
once() {
    TIMEFORMAT='%U'
    { time timeout "$limit" "$tool" verify --method horn "$@" >"$scratch/out" 2>/dev/null; } 2>"$scratch/time" || true
    word=$(head -1 "$scratch/out" | sed -E 's/^[^:]*: *//; s/[ :].*//')
    case "$word" in safe | unsafe) ;; *) word="-" ;; esac
    if [ "$word" = safe ] && grep -q 'a modular proof' "$scratch/out"; then word="modular"; fi
    echo "$word $(tail -1 "$scratch/time")"
}

printf '%-22s %-16s %-16s %-16s\n' program "bias modular" "no bias" "Spacer, product"
for row in $rows; do
    file=corpus/seeds/threader/$row.tp
    a=$(once --bias modular "$file")
    b=$(once --bias none "$file")
    c=$(once --bias none --option clauses=spacer "$file")
    printf '%-22s %-16s %-16s %-16s\n' "$row" "$a" "$b" "$c"
    echo "$a $b $c" >>"$scratch/all"
done
# Unsolved counts as the limit. Spacer alone gives no runs: rows that are unsafe are compared by solved only.
awk -v limit="$limit" '
    function t(word, time) { return word == "-" ? limit : (time < 0.01 ? 0.01 : time) }
    { for (i = 0; i < 3; i++) { if ($(2*i+1) != "-") solved[i]++; sum[i] += t($(2*i+1), $(2*i+2)); logs[i] += log(t($(2*i+1), $(2*i+2))) } n++ }
    END {
        printf "solved: %d, %d, %d of %d; seconds in all: %.1f, %.1f, %.1f\n", solved[0], solved[1], solved[2], n, sum[0], sum[1], sum[2]
        printf "geometric mean against Spacer: %.1f times, %.1f times\n", exp((logs[2] - logs[0]) / n), exp((logs[2] - logs[1]) / n)
    }' "$scratch/all"
