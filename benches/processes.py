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
CLOCK_PER_PROCESSOR_SECOND = 20


def measured(command, limit=math.inf, cwd=None):
    """Exit code, output and processor seconds; the code is None where the command was ended at the limit."""
    # Processes whose parent has ended become ours, so that their time is counted, too.
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, cwd=cwd)
        begin, code, spent = time.time(), None, 0.0
        while True:
            try:
                pid, status, usage = os.wait4(-1, 0 if math.isinf(limit) else os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                if code is None and (spent + used_by(child.pid) > limit or time.time() - begin > CLOCK_PER_PROCESSOR_SECOND * limit):
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
    """Processor seconds of one running process; 0 where there is none."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0
