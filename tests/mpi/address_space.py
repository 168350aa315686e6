#!/usr/bin/env python3
"""Runs a program with ever less address space (ulimit -v): whywait reports, or one line says why there is no report.

    address_space.py PROGRAM -- LAUNCHER [OPTION ...] -n

Below some limit the program cannot start without whywait either."""
import resource
import subprocess
import sys

LINE = "memory or address space does not suffice (ulimit -v); no rank records and there is no report"
program, launcher = sys.argv[1], sys.argv[3:]
reports = lines = 0
for mib in (150, 200, 225, 250, 275, 300, 350, 450, 700, 2000):
    limit = mib << 20
    done = subprocess.run([*launcher, "1", program], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if "rank 0 finished\n" not in done.stdout:
        continue  # the MPI library has no room
    report, line = " · 1 rank" in done.stderr, LINE in done.stderr
    print(f"{mib} MiB: exit code {done.returncode}, {'report' if report else 'line' if line else done.stderr!r}")
    if done.returncode != 0 or done.stderr.count("no report") > 1 or report == line:
        sys.exit(done.stderr)
    reports += report
    lines += line
if reports == 0:
    sys.exit("no report")
print(f"{reports} reports, {lines} lines")
