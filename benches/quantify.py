#!/usr/bin/env python3
"""Mutual exclusion and its like by any number of threads: verdict, processor seconds of all processes, and the size of the certificate.

usage: benches/quantify.py PROGRAM [--limit SECONDS]     PROGRAM: a built tool; prints a table in Markdown

The rows are programs of corpus/lockfree: right ones by `quantify` alone and by the default strategy, broken ones by the default strategy.
"""
import argparse
import os
import re
import resource
import subprocess

CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus", "lockfree")
ROWS = [
    ("flags_any", "any"),
    ("burns_any", "any"),
    ("burns_any_counted", "any"),
    ("dijkstra_any", "any"),
    ("knuth_any", "any"),
    ("bakery_any", "any"),
    ("fast_mutex_any", "any"),
    ("eisenberg_mcguire", "3"),
    ("szymanski_three", "3"),
]
BROKEN = [
    ("flags_any_late", "any"),
    ("burns_any_one_scan", "any"),
    ("dijkstra_any_no_mark", "any"),
    ("knuth_any_half_scan", "any"),
    ("bakery_any_no_choosing", "any"),
    ("fast_mutex_any_no_wait", "any"),
    ("eisenberg_mcguire_half_scan", "3"),
    ("szymanski_three_early_exit", "3"),
]


def run(tool, name, method, limit):
    """The verdict, the seconds of processor time, and what the report says of the proof."""
    command = [tool, "verify", os.path.join(CORPUS, name + ".tp"), "--time", f"{limit}s"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = subprocess.run(command + (["--method", method] if method else []), capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    verdict = re.search(r": (safe|unsafe|unknown)\b", report)
    found = re.search(r"proved by (\w+)|(\w+) found a run of \d+ steps", report)
    size = re.search(r"certificate checked: (\d+) obligations", report)
    return (
        verdict.group(1) if verdict else "no report",
        f"{seconds:.2f}",
        (found.group(1) or found.group(2)) if found else "",
        f"{size.group(1)} obligations" if size else "",
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("tool")
    options.add_argument("--limit", type=int, default=120, help="seconds by the clock for each run")
    given = options.parse_args()
    print("| program | threads | method | verdict | CPU seconds | by | certificate |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, threads in ROWS + BROKEN:
        alone = threads == "any" and (name, threads) in ROWS
        for method in ["quantify", None] if alone else [None]:
            verdict, seconds, found, size = run(given.tool, name, method, given.limit)
            print(f"| {name} | {threads} | {method or 'default'} | {verdict} | {seconds} | {found} | {size} |", flush=True)


if __name__ == "__main__":
    main()
