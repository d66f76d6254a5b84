#!/usr/bin/env python3
"""How the time of `count` grows with the code of the threads it counts, in processor seconds of all processes, the checker's solver included.

usage: benches/count_growth.py PROGRAM... [--most K] [--limit SECONDS] [--markdown]     PROGRAM: built tools, one column each

Two families of programs that are made here, for any number of each thread, with K = 1, 2, 4 and so on up to the most:
  phases    one thread enters and leaves a critical section K times in a row (K times the locations of one thread)
  routines  a queue of requests with one server and K kinds of cancel routines (K threads with maps by request, as in corpus/counting/irp_cancel.tp)
A row that is not decided within the limit says so.
"""
import argparse
import importlib.machinery
import importlib.util
import os
import re
import tempfile

loader = importlib.machinery.SourceFileLoader("compare", os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare"))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
loader.exec_module(compare)


def phases(k):
    """K critical sections, one after the other."""
    section = "  acquire m;\n  inside := inside + 1;\n  assert inside == 1;\n  inside := inside - 1;\n  release m;\n"
    return "var m: lock;\nvar inside: int = 0;\nthread T[*] {\n" + section * k + "}\n"


def routines(k):
    """K kinds of routines that take a request off the queue, beside the server."""
    take = """{
  var r: int;
  var mine: bool;
  havoc r;
  acquire guard;
  mine := queued[r];
  queued[r] := false;
  release guard;
  if mine {
    assert !completed[r];
    completed[r] := true;
  }
}
"""
    head = "var guard: lock;\nvar queued: [int]bool;\nvar completed: [int]bool;\ninit forall r: int :: !queued[r] && !completed[r];\n"
    request = "thread Request[*] {\n  acquire guard;\n  queued[tid] := true;\n  release guard;\n}\n"
    return head + request + "".join(f"thread Take{i}[*] {take}" for i in range(k + 1))


def obligations(report):
    """The verdict of a report, with the largest number of obligations of its certificates."""
    sizes = [int(n) for n in re.findall(r"certificate checked: (\d+) obligations", report)]
    return (compare.first_verdict(report) or "unknown", max(sizes, default=0))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("tools", nargs="+")
    options.add_argument("--most", type=int, default=8)
    options.add_argument("--limit", type=int, default=120, help="seconds by the clock for each run")
    options.add_argument("--markdown", action="store_true")
    a = options.parse_args()
    titles = ["family", "K"] + [f"{what} {i + 1}" for i in range(len(a.tools)) for what in ("seconds", "obligations")]
    row = (lambda cells: "| " + " | ".join(cells) + " |") if a.markdown else (lambda cells: "".join(f"{c:<15}" for c in cells))
    print(row(titles))
    if a.markdown:
        print("| --- " * len(titles) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for family in (phases, routines):
            k = 1
            while k <= a.most:
                file = os.path.join(folder, f"{family.__name__}_{k}.tp")
                with open(file, "w") as out:
                    out.write(family(k))
                cells = [family.__name__, str(k)]
                for tool in a.tools:
                    found, seconds = compare.run(os.path.abspath(tool), [file, "--method", "count"], a.limit, obligations)
                    verdict, size = found if isinstance(found, tuple) else (found, 0)
                    cells += [f"{seconds:.2f}" + ("" if verdict == "safe" else f" ({verdict})"), str(size)]
                print(row(cells), flush=True)
                k *= 2


if __name__ == "__main__":
    main()
