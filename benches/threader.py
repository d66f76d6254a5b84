#!/usr/bin/env python3
"""Threader's Table 1: `horn` with the modular bias and without, beside the paper's figures and Z3's Spacer, in one run; the same rows as C.

Spacer gets the same programs as one product system (`--bias none --option clauses=spacer`); it gives no runs, so that rows that are unsafe
are never solved by it. As C, the rows are also decided by the default strategy. Every cell is processor time in seconds, of the
tool and of every solver process that it started: reading, proof, and the check of the certificate by cvc5 are in it. `-` is a
cell that was not decided in its limit; it counts as the limit in the sums.

usage: benches/threader.py [--limit SECONDS] [--tool PATH] [--markdown] [--tp | --c]
"""
import argparse
import collections
import math
import os
import subprocess
import sys

from processes import CLOCK_PER_PROCESSOR_SECOND, ROOT, measured

Row = collections.namedtuple("Row", "name in_c paper_modular paper_none")
# The times are the paper's, in seconds, on a machine of its year; None is its time-out of 15 minutes.
TABLE = [
    Row("fig2_cex", "fig2", 0.2, 0.2),
    Row("fig2_fixed", "fig2_fixed", 0.8, 0.7),
    Row("fig4_cex", "fig4", 4.5, 3.7),
    Row("fig4_fixed", "fig4_fixed", 1.5, 11.1),
    Row("bluetooth2", "bluetooth2", 29.1, 11.2),
    Row("bluetooth2_fixed", "bluetooth2_fixed", 3.7, 0.4),
    Row("bluetooth3_fixed", "bluetooth3_fixed", 135, 9.7),
    Row("scull", "scull", 128.5, None),
    Row("dekker", "dekker", 11.1, 6),
    Row("peterson", "peterson", 4.7, 3.9),
    Row("readers_writer_lock", "readers_writer_lock", 0.2, 0.4),
    Row("time_varying_mutex", "time_varying_mutex", 11.8, 3.1),
    Row("szymanski", "szymanski", 32, 8.8),
    Row("naive_bakery", "naive_bakery", 2.5, 3),
    Row("bakery", "bakery", 105.4, 101),
    Row("lamport", "lamport_fast", 120.8, 97),
    Row("qrcu", "qrcu", 34.5, None),
]
MODULAR, NONE, SPACER = ["--bias", "modular"], ["--bias", "none"], ["--bias", "none", "--option", "clauses=spacer"]
SHORTEST_SECONDS = 0.01


def decided(text):
    """The verdict of a report, `-` for none; with whether the proof is modular."""
    first = text.split("\n", 1)[0]
    if ": unsafe" in first:
        return "unsafe"
    if ": safe" not in first:
        return "-"
    return "modular" if "a modular proof" in text else "safe"


def cell(tool, file, limit, *more):
    """Verdict and seconds of one run."""
    clock = CLOCK_PER_PROCESSOR_SECOND * limit
    _, text, seconds = measured([tool, "verify", file, *more, "--time", f"{clock}s"], limit, ROOT)
    verdict = decided(text)
    return verdict, limit if verdict == "-" else seconds


def column(name, cells, limit):
    """One line about a column: what is solved, and the sum."""
    solved = sum(verdict != "-" for verdict, _ in cells)
    return f"{name}: {solved} of {len(cells)} solved, {sum(seconds for _, seconds in cells):.1f} s (a row that is not counts {limit} s)"


def mean_ratio(others, ours):
    logs = [math.log(max(b, SHORTEST_SECONDS) / max(a, SHORTEST_SECONDS)) for (_, a), (_, b) in zip(ours, others)]
    return math.exp(sum(logs) / len(logs))


def table(title, columns, run_row, limit, markdown):
    """Prints one table; `run_row` gives the text of the paper's columns and the cells of a row."""
    head = [title, *columns]
    line = "| " + " | ".join(["{}"] * len(head)) + " |" if markdown else "{:<22}" + " {:<17}" * len(columns)
    print(line.format(*head))
    if markdown:
        print("| --- " * len(head) + "|")
    rows = []
    for row in TABLE:
        paper, cells = run_row(row)
        rows.append((row, cells))
        shown = [f"{verdict} {seconds:.2f}" if verdict != "-" else "-" for verdict, seconds in cells]
        print(line.format(row.name, *paper, *shown), flush=True)
    print()
    measured_columns = columns[-len(rows[0][1]):]
    for index, name in enumerate(measured_columns):
        print(column(name, [cells[index] for _, cells in rows], limit))
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--limit", type=int, default=60)
    options.add_argument("--tool", default=os.path.join(ROOT, "target", "release", "threadproof"))
    options.add_argument("--markdown", action="store_true")
    options.add_argument("--tp", action="store_true", help="the programs in the modelling language only")
    options.add_argument("--c", action="store_true", help="the programs in C only")
    a = options.parse_args()
    if not os.path.exists(a.tool):
        subprocess.run(["cargo", "build", "--release", "-p", "threadproof"], cwd=ROOT, check=True)
    tool = os.path.abspath(a.tool)

    def paper(seconds):
        return "-" if seconds is None else f"{seconds:g}"

    def in_tp(row):
        file = f"corpus/seeds/threader/{row.name}.tp"
        cells = [cell(tool, file, a.limit, "--method", "horn", *how) for how in (MODULAR, NONE, SPACER)]
        return [paper(row.paper_modular), paper(row.paper_none)], cells

    def in_c(row):
        file = f"corpus/c/{row.in_c}.c"
        cells = [cell(tool, file, a.limit, "--method", "horn", *how) for how in (MODULAR, NONE)]
        return [], [*cells, cell(tool, file, a.limit)]

    undecided = []
    if not a.c:
        rows = table("program", ["paper, bias", "paper, none", "bias modular", "no bias", "Spacer, product"], in_tp, a.limit, a.markdown)
        modular, none, spacer = ([cells[i] for _, cells in rows] for i in range(3))
        print(f"Spacer's time over ours, geometric mean: {mean_ratio(spacer, modular):.1f} (bias modular), {mean_ratio(spacer, none):.1f} (no bias)")
        safe = [cells for _, cells in rows if cells[0][0] != "unsafe"]
        modular, none, spacer = ([cells[i] for cells in safe] for i in range(3))
        print(f"the same of the {len(safe)} safe rows: {mean_ratio(spacer, modular):.1f}, {mean_ratio(spacer, none):.1f}\n")
        undecided += [row.name for row, cells in rows if "-" in (cells[0][0], cells[1][0])]
    if not a.tp:
        rows = table("as C", ["bias modular", "no bias", "default strategy"], in_c, a.limit, a.markdown)
        undecided += [row.in_c + ".c" for row, cells in rows if "-" in [verdict for verdict, _ in cells]]
    if undecided:
        print("not decided:", ", ".join(undecided))
    sys.exit(1 if undecided else 0)


if __name__ == "__main__":
    main()
