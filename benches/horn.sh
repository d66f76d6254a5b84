#!/usr/bin/env bash
# Threader's table: `horn` by trees, with the modular bias and without, beside Z3's Spacer on the same programs as one
# product system (`--bias none --option clauses=spacer`), one after the other in one run, on one core; then the same
# rows as C, by `horn` and by the default strategy.
#
# usage: benches/horn.sh [SECONDS]      the limit of each run in processor seconds, 60 unless given
# Times are user CPU seconds of the whole command: reading, proof, and the check of the certificate by cvc5 included.
# TOOL names a binary to use instead of building one.
set -eu
cd "$(dirname "$0")/.."
limit=${1:-60}
if [ -z "${TOOL:-}" ]; then
    cargo build --release --quiet -p threadproof
    TOOL=target/release/threadproof
fi
rows="fig2_cex fig2_fixed fig4_cex fig4_fixed bluetooth2 bluetooth2_fixed bluetooth3_fixed scull dekker peterson
      readers_writer_lock time_varying_mutex szymanski naive_bakery bakery lamport qrcu"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# One run: verdict and user time.
once() {
    TIMEFORMAT='%U'
    { time bash -c 'ulimit -t "$1"; shift; exec "$@"' - "$limit" "$TOOL" verify "$@" >"$scratch/out" 2>/dev/null; } 2>"$scratch/time" || true
    word=$(head -1 "$scratch/out" | sed -E 's/^[^:]*: *//; s/[ :].*//')
    case "$word" in safe | unsafe) ;; *) word="-" ;; esac
    if [ "$word" = safe ] && grep -q 'a modular proof' "$scratch/out"; then word="modular"; fi
    echo "$word $(tail -1 "$scratch/time")"
}

printf '%-22s %-16s %-16s %-16s\n' program "bias modular" "no bias" "Spacer, product"
for row in $rows; do
    file=corpus/seeds/threader/$row.tp
    a=$(once --method horn --bias modular "$file")
    b=$(once --method horn --bias none "$file")
    c=$(once --method horn --bias none --option clauses=spacer "$file")
    printf '%-22s %-16s %-16s %-16s\n' "$row" "$a" "$b" "$c"
    echo "$a $b $c" >>"$scratch/all"
done
# Unsolved counts as the limit. Spacer alone gives no runs, so that rows that are unsafe are never solved by it: the mean
# is told for the safe rows, too.
awk -v limit="$limit" '
    function t(word, time) { return word == "-" ? limit : (time < 0.01 ? 0.01 : time) }
    {
        safe = $1 != "unsafe"
        for (i = 0; i < 3; i++) {
            if ($(2*i+1) != "-") solved[i]++
            v = t($(2*i+1), $(2*i+2)); sum[i] += v; logs[i] += log(v)
            if (safe) logs_safe[i] += log(v)
        }
        n++; if (safe) m++
    }
    END {
        printf "solved: %d, %d, %d of %d; seconds in all: %.1f, %.1f, %.1f\n", solved[0], solved[1], solved[2], n, sum[0], sum[1], sum[2]
        printf "geometric mean against Spacer: %.1f times, %.1f times; of the safe rows: %.1f times, %.1f times\n",
            exp((logs[2] - logs[0]) / n), exp((logs[2] - logs[1]) / n), exp((logs_safe[2] - logs_safe[0]) / m), exp((logs_safe[2] - logs_safe[1]) / m)
    }' "$scratch/all"

printf '\n%-22s %-16s %-16s %-16s\n' "as C" "bias modular" "no bias" "default strategy"
for row in $rows; do
    case $row in fig2_cex) name=fig2 ;; fig4_cex) name=fig4 ;; lamport) name=lamport_fast ;; *) name=$row ;; esac
    file=corpus/c/$name.c
    printf '%-22s %-16s %-16s %-16s\n' "$row" "$(once --method horn --bias modular "$file")" \
        "$(once --method horn --bias none "$file")" "$(once "$file")"
done
