#!/usr/bin/env python3
"""How often `propose` finds a machine for a random thread, and whether the thread conforms to it when it is pasted into the file.

A thread has up to seven statements over two shared numbers, a shared flag and a lock, and two locals: assignments, waits, checks of shared numbers, blocks,
branches, loops, critical sections; another thread in any number adds to one of the numbers. A machine counts if `verify --method conform` shows that the thread follows it.

usage: benches/propose.py [--tool PATH] [--threads N] [--seed S] [--limit SECONDS]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

from processes import CLOCK_PER_PROCESSOR_SECOND, ROOT, measured

SHARED, LOCALS = ["g", "h"], ["a", "c"]
LEAST_SHARE = 55 / 60


def random_thread(seed):
    """A program whose thread T is random."""
    r = random.Random(seed)

    def value(depth=0):
        k = r.random()
        if k < 0.35:
            return r.choice(SHARED)
        if k < 0.65:
            return r.choice(LOCALS)
        if k < 0.85 or depth > 1:
            return str(r.randint(0, 3))
        return f"{value(depth + 1)} {r.choice('+-')} {value(depth + 1)}"

    def condition():
        if r.random() < 0.8:
            return f"{r.choice(SHARED + LOCALS)} {r.choice(['==', '!=', '<', '>=', '>'])} {r.randint(0, 3)}"
        return "f"

    def statement(depth):
        k = r.random()
        inner = lambda many: " ".join(statement(depth + 1) for _ in range(many))
        if k < 0.3:
            return f"{r.choice(SHARED)} := {value()};"
        if k < 0.5:
            return f"{r.choice(LOCALS)} := {value()};"
        if k < 0.58:
            return f"f := {r.choice(['true', 'false'])};"
        if k < 0.66:
            return f"assume {condition()};"
        if k < 0.76:
            return f"assert {r.choice(SHARED)} {r.choice(['!=', '<', '>='])} {r.randint(0, 3)};"
        if k < 0.82:
            return f"atomic {{ {' '.join(statement(3) for _ in range(2))} }}"
        if k < 0.9 and depth < 2:
            return f"if {condition() if r.random() < 0.7 else '*'} {{ {inner(2)} }} else {{ {inner(1)} }}"
        if k < 0.95 and depth < 2:
            return f"while {condition() if r.random() < 0.5 else '*'} {{ {inner(2)} }}"
        if depth < 3:
            return f"acquire m; {r.choice(SHARED)} := {value()}; release m;"
        return "g := g + 1;"

    body = "\n  ".join(statement(0) for _ in range(r.randint(3, 7)))
    return f"""var g: int = 0;
var h: int = 1;
var f: bool = false;
var m: lock;
thread T {{
  var a: int := 0;
  var c: int := 1;
  {body}
}}
thread Other[*] {{
  while * {{ g := g + 1; }}
}}
"""


def outcome(tool, folder, seed, limit):
    """Whether there is a machine that the thread follows, else why not; and processor seconds."""
    file, followed = os.path.join(folder, f"t{seed}.tp"), os.path.join(folder, f"f{seed}.tp")
    text = random_thread(seed)
    with open(file, "w") as out:
        out.write(text)
    clock = f"{CLOCK_PER_PROCESSOR_SECOND * limit}s"
    code, machine, seconds = measured([tool, "propose", file, "--thread", "T", "--time", clock], limit, ROOT)
    if code is None:
        return "took too long", seconds
    if code != 0:
        return "none found", seconds
    with open(followed, "w") as out:
        out.write(text.replace("thread T {", "thread T follows TMachine {") + machine)
    asked = [tool, "verify", followed, "--method", "conform", "--property", "follows", "--time", clock]
    code, _, more = measured(asked, limit, ROOT)
    return None if code == 0 else "shown, and not followed", seconds + more


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tool", default=os.path.join(ROOT, "target", "release", "threadproof"))
    options.add_argument("--threads", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--limit", type=int, default=20)
    a = options.parse_args()
    if not os.path.exists(a.tool):
        subprocess.run(["cargo", "build", "--release", "-p", "threadproof"], cwd=ROOT, check=True)
    tool, found, spent = os.path.abspath(a.tool), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(a.seed, a.seed + a.threads):
            why, seconds = outcome(tool, folder, seed, a.limit)
            found, spent = found + (why is None), spent + seconds
            if why:
                print(f"seed {seed}: {why}", flush=True)
    print(f"{found} of {a.threads} threads have a machine that they follow; {spent:.1f} s of processors")
    sys.exit(0 if found >= LEAST_SHARE * a.threads else 1)


if __name__ == "__main__":
    main()
