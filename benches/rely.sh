#!/usr/bin/env bash
# `rely` beside Boogie: the four programs of Calvin, annotated and bare, against hand-encoded conditions of the same programs
# in Boogie 2.4.1 with Z3 (Debian's package `boogie`); then programs of up to 200 procedures (benches/rely.rs).
#
# usage: benches/rely.sh [seeds]      `seeds`: the comparison alone
# Times are user CPU seconds of the whole command; ours include reading, inference and the check of the certificate by cvc5.
set -eu
cd "$(dirname "$0")/.."
command -v boogie >/dev/null || apt-get install -y --no-install-recommends boogie >/dev/null
cargo build --release --quiet -p threadproof
tool=target/release/threadproof
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT='%U'

printf '%-20s %10s %10s %10s\n' program "Boogie" "annotated" "bare"
for row in simple_lock dekker rwlock timevarying_mutex; do
    { time boogie "benches/models/calvin_$row.bpl" >"$scratch/theirs" 2>&1; } 2>"$scratch/a"
    grep -q ' 0 errors' "$scratch/theirs" || { echo "Boogie does not verify $row:"; cat "$scratch/theirs"; exit 1; }
    for form in "" _bare; do
        { time "$tool" verify --method rely "corpus/seeds/calvin/$row$form.tp" >"$scratch/ours"; } 2>"$scratch/b$form" ||
            { echo "we do not verify $row$form:"; cat "$scratch/ours"; exit 1; }
    done
    printf '%-20s %10s %10s %10s\n' "$row" "$(cat "$scratch/a")" "$(cat "$scratch/b")" "$(cat "$scratch/b_bare")"
    echo "$(cat "$scratch/a") $(cat "$scratch/b") $(cat "$scratch/b_bare")" >>"$scratch/all"
done
awk '{ a += $1; b += $2; c += $3 } END {
    printf "in all               %10.2f %10.2f %10.2f\n", a, b, c
    printf "times faster                    %10.1f %10.1f\n", a / b, a / c }' "$scratch/all"
[ "${1:-}" = seeds ] || cargo bench --quiet -p threadproof --bench rely
