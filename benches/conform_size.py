#!/usr/bin/env python3
"""How the text of the conformance check grows: with the thread, and with the machine.

Abstract Threads, section 3.1: the checker's text is linear in the concrete thread and quadratic in the abstract one. Two families:
a thread that goes round a ring of two states k times, written out; and one round of a ring of m states. Printed are the
symbols in the text of all Horn clauses, each constraint written out, and the exponent of the growth at the end. Then the time for machines that guess: the
number of sets of states that such a machine may be in is exponential in its size.

Usage: conform_size.py [--tool PATH]
"""

import argparse
import json
import math
import os
import subprocess
import resource
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def program(states, steps):
    """A machine whose states count modulo `states`, and a thread of `steps` increments with a local in between."""
    names = [f"S{i}" for i in range(states)]
    lines = ["var x: int = 0;", "machine Ring {", f"  start {names[0]};"]
    lines += [f"  state {n};" for n in names[1:]]
    lines += [f"  {names[i]} -> {names[(i + 1) % states]} : <x> x' == x + {i + 1};" for i in range(states)]
    lines += ["}", "thread T follows Ring {", "  var a: int := 0;"]
    for k in range(steps):
        lines += [f"  a := a + {k % 3};", f"  x := x + {k % states + 1};"]
    return "\n".join(lines + ["}"]) + "\n"


def guessing(states, looped):
    """A machine that guesses which positive number is the one so many steps before the end, and a thread of as many steps or a loop."""
    lines = ["var g: int = 0;", "machine Guess {", "  start A;"] + [f"  state B{i};" for i in range(states - 1)]
    lines += ["  A -> A : <g> true;", "  A -> B0 : <g> g' > 0;"]
    lines += [f"  B{i} -> B{i + 1} : <g> true;" for i in range(states - 2)]
    lines += ["}", "thread T follows Guess {", "  var v: int;"]
    step = ["  havoc v;", "  g := v;"]
    lines += ["  while * {"] + step + ["  }"] if looped else step * (states + 3)
    return "\n".join(lines + ["}"]) + "\n"


def seconds(tool, source):
    """Processor seconds from source to checked verdict, all solver processes counted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.NamedTemporaryFile("w", suffix=".tp") as f:
        f.write(source)
        f.flush()
        done = subprocess.run([tool, "verify", f.name, "--method", "conform", "--time", "120"], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{used:.2f}" if done.returncode == 0 else f"unknown after {used:.0f}"


def text(tool, source):
    with tempfile.NamedTemporaryFile("w", suffix=".tp") as f:
        f.write(source)
        f.flush()
        done = subprocess.run([tool, "verify", f.name, "--json", "--method", "conform"], capture_output=True, text=True)
    methods = json.loads(done.stdout)["files"][0]["methods"]
    assert done.returncode == 0, "the thread follows its machine"
    return methods[0]["statistics"]["text T"]


def family(name, sizes, make, tool):
    print(f"\n{name}\n\n| size | symbols | per size | per square |\n| --- | --- | --- | --- |")
    found = [(n, text(tool, make(n))) for n in sizes]
    for n, symbols in found:
        print(f"| {n} | {symbols} | {symbols / n:.1f} | {symbols / n / n:.2f} |")
    (a, s), (b, t) = found[-2], found[-1]
    exponent = math.log(t / s) / math.log(b / a)
    print(f"\nexponent at the end: {exponent:.2f}")
    return exponent


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--tool", default=os.path.join(ROOT, "target", "release", "threadproof"))
    a = arguments.parse_args()
    if not os.path.exists(a.tool):
        subprocess.run(["cargo", "build", "--release", "-p", "threadproof"], cwd=ROOT, check=True)
    thread = family("thread of k rounds, machine of 2 states", [4, 8, 16, 32, 64], lambda k: program(2, 2 * k), a.tool)
    machine = family("machine of m states, one round", [2, 4, 8, 16, 32], lambda m: program(m, m), a.tool)
    print("\nmachines that guess, seconds\n\n| states | straight code | loop |\n| --- | --- | --- |")
    for n in [10, 20, 30, 40, 50]:
        print(f"| {n} | {seconds(a.tool, guessing(n, False))} | {seconds(a.tool, guessing(n, True))} |")
    assert thread < 1.2, "more than linear in the thread"
    assert machine < 2.2, "more than quadratic in the machine"


if __name__ == "__main__":
    main()
