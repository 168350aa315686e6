#!/usr/bin/env python3
"""Runs a program with ever less address space (ulimit -v): whywait reports, or one line says why there is no report.

    address_space.py PROGRAM WITHOUT -- LAUNCHER [OPTION ...] -n

At some limits MPI cannot load all of its parts, or WITHOUT, the same program without whywait, cannot run either. Which limits these are
differs from machine to machine; a lower limit may suffice where a higher one does not."""
import resource
import subprocess
import sys

LINE = "memory or address space does not suffice (ulimit -v); no rank records and there is no report"
program, without, launcher = *sys.argv[1:3], sys.argv[4:]
OF_WHYWAIT = 48  # MiB, for its code and data
OF_MPI = "failed to map segment from shared object", "out of dynamic memory in opal", "OPAL ERROR"  # its own failures
reports = lines = 0


def run(what, mib):
    limit = mib << 20
    return subprocess.run([*launcher, "1", what], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


for mib in (150, 200, 225, *range(240, 341, 7), 350, 450, 700, 2000):
    for _ in range(3):  # addresses are random, and so is what fits between them
        done = run(program, mib)
        if "rank 0 finished\n" in done.stdout:
            break
    if "rank 0 finished\n" not in done.stdout:
        explained = any(words in done.stderr for words in OF_MPI)
        if not explained and all(run(without, mib - less).returncode == 0 for less in range(0, OF_WHYWAIT + 1, 16)):
            sys.exit(f"{mib} MiB: exit code {done.returncode}, {done.stdout} {done.stderr}")
        continue  # the MPI library has no room
    report, line = " · 1 rank" in done.stderr, LINE in done.stderr
    failed = "whywait: the analysis failed, waits are not explained: rank 0: std::bad_alloc\n" in done.stderr
    print(f"{mib} MiB: exit code {done.returncode}, {'report' if report else 'line' if line else done.stderr!r}")
    if done.returncode != 0 or done.stderr.count("no report") > 1 or (report and line) or not (report or line or failed):
        sys.exit(done.stderr)
    reports += report
    lines += line
if reports == 0:
    sys.exit("no report")
print(f"{reports} reports, {lines} lines")
