#!/usr/bin/env python3
"""The table of Abstract Threads, section 4, with SPIN beside Threadproof in one run.

Rows: the concrete and the abstract program of each driver, for n = 1 to N threads, by SPIN and here; then "every n". Every cell
is processor time in seconds (user and system, with the solver processes that were started). Conformance is part of the
abstract rows here, with no annotation but the machines. `t/o` is a cell over its limit (SPIN: or over 4 GB); after two of them larger n are not tried;
`-` was not run (the language has no thread of zero copies, so n = 1 is SPIN's alone). SPIN's time is that of its
search: `spin -a` and the C compiler are not counted.

Usage: conform.py [--most N] [--limit SECONDS] [--tool PATH] [--only bluetooth|battery]
"""

import argparse
import os
import shutil
import subprocess
import tempfile

from processes import ROOT, measured

SEEDS = os.path.join(ROOT, "corpus", "seeds", "abstract-threads")
MODELS = os.path.join(ROOT, "benches", "models")


def spin(model, n, limit):
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"-DN={n}"]
        quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
        subprocess.run(["spin", "-a", *flags, os.path.join(MODELS, model)], **quiet)
        subprocess.run(["gcc", "-O2", "-DSAFETY", "-DMEMLIM=4096", "-o", "pan", "pan.c"], **quiet)
        code, text, spent = measured(["./pan", "-E", "-n", "-m20000"], limit, folder)
    if code is None or "out of memory" in text or "max search depth" in text:
        return None
    assert "errors: 0" in text, f"SPIN finds an error in {model} with {n} threads"
    return spent


def here(tool, file, method, limit, *more):
    command = [tool, "verify", os.path.join(SEEDS, file), "--json", "--time", f"{int(20 * limit)}s", *more]
    command += ["--method", method] if method else []
    code, text, spent = measured(command, limit)
    if code is None:
        return None
    assert code != 1, f"{file}: unsafe, which it is not"
    return spent if code == 0 else None


def cell(seconds):
    return "t/o" if seconds is None else f"{seconds:.2f}"


def row(name, most, run, least=1):
    cells, over = ["-"] * (least - 1), 0
    for n in range(least, most + 1):
        value = None if over == 2 else run(n)
        cells.append("-" if over == 2 else cell(value))
        over = 0 if value is not None else min(over + 1, 2)
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--most", type=int, default=11)
    arguments.add_argument("--limit", type=float, default=60)
    arguments.add_argument("--tool", default=os.path.join(ROOT, "target", "release", "threadproof"))
    arguments.add_argument("--only", choices=["bluetooth", "battery"])
    a = arguments.parse_args()
    if not os.path.exists(a.tool):
        subprocess.run(["cargo", "build", "--release", "-p", "threadproof"], cwd=ROOT, check=True)
    assert shutil.which("spin"), "SPIN is not installed (Debian: apt-get install spin)"
    drivers = [("bluetooth", "PnpAdd", "bluetooth.tp"), ("battery", "Worker", "battery_bounded.tp")]
    for name, worker, concrete in drivers:
        if a.only not in (None, name):
            continue
        print(f"\n**{name}**, processor seconds\n")
        print("| n | " + " | ".join(str(n) for n in range(1, a.most + 1)) + " |")
        print("| --- " * (a.most + 1) + "|")
        fixed = lambda n: ("--threads", f"{worker}={n - 1}")
        row("concrete, SPIN", a.most, lambda n: spin(f"{name}_concrete.pml", n, a.limit))
        row("concrete, here", a.most, lambda n: here(a.tool, concrete, "explore", a.limit, *fixed(n)), 2)
        row("abstract, SPIN", a.most, lambda n: spin(f"{name}_abstract.pml", n, a.limit))
        row("abstract, here", a.most, lambda n: here(a.tool, f"{name}_machines.tp", "conform", a.limit, *fixed(n)), 2)
        print()
        print(f"every n: concrete {cell(here(a.tool, f'{name}.tp', 'count', a.limit))} s;", end=" ", flush=True)
        print(f"abstract {cell(here(a.tool, f'{name}_machines.tp', 'conform', a.limit))} s;", end=" ", flush=True)
        print(f"concrete with no method named {cell(here(a.tool, f'{name}.tp', None, a.limit))} s")


if __name__ == "__main__":
    main()
