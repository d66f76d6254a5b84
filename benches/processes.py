"""Runs a command and counts the processor time of everything it started, waited for by it or not.

In: a command and a limit in processor seconds. Out: its exit code, its output, and user and system time of all its processes.
Deliberately absent: memory, and repetition; who wants the smallest of several runs calls it several times.
"""
import ctypes
import math
import os
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SET_CHILD_SUBREAPER = 36
POLL_SECONDS = 0.005
LOOK_SECONDS = 0.2
CLOCK_PER_PROCESSOR_SECOND = 20


def measured(command, limit=math.inf, cwd=None):
    """Exit code, output and processor seconds; the code is None where the command was ended at the limit."""
    # Processes whose parent has ended become ours, so that their time is counted, too.
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, cwd=cwd)
        begin, code, spent = time.time(), None, 0.0
        next_look = begin
        while True:
            try:
                pid, status, usage = os.wait4(-1, 0 if math.isinf(limit) else os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                now = time.time()
                if code is None and now > next_look:
                    next_look = now + LOOK_SECONDS
                    if spent + used_by(child.pid) > limit or now - begin > CLOCK_PER_PROCESSOR_SECOND * limit:
                        child.kill()
                        limit = math.inf
                time.sleep(POLL_SECONDS)
                continue
            spent += usage.ru_utime + usage.ru_stime
            if pid == child.pid:
                code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        out.seek(0)
        return (None if code is not None and code < 0 else code), out.read().decode(errors="replace"), spent


def used_by(pid):
    """Processor seconds of a running process, of what it waited for, and of all that descend from it and run."""
    fields_of = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                fields_of[int(name)] = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
    family, found = {pid}, True
    while found:
        found = {p for p, fields in fields_of.items() if int(fields[1]) in family and p not in family}
        family |= found
    ticks = sum(int(ticks) for p in family & fields_of.keys() for ticks in fields_of[p][11:15])
    return ticks / os.sysconf("SC_CLK_TCK")
