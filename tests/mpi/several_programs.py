#!/usr/bin/env python3
"""Runs jobs of two programs, of which one has no whywait: no rank hangs, all finish, and one line says why there is no report.

    several_programs.py WITH WITHOUT -- LAUNCHER [OPTION ...] -n"""
import subprocess
import sys

split = sys.argv.index("--")
watched, plain = sys.argv[1:split]
launcher = sys.argv[split + 1:]
LINE = "whywait: 1 of the {} ranks on this machine run a program without whywait; no rank records and there is no report"
failures = []


def run(*programs):
    command = launcher[:-1]
    for i, (ranks, program) in enumerate(programs):
        command += ([":"] if i else []) + [launcher[-1], str(ranks), program]
    ranks = sum(r for r, _ in programs)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired:
        failures.append(f"{programs}: hangs")
        return ""
    for rank in range(ranks):
        if f"rank {rank} finished\n" not in done.stdout:
            failures.append(f"{programs}: rank {rank} did not finish: {done.stdout} {done.stderr}")
    if done.returncode != 0:
        failures.append(f"{programs}: exit code {done.returncode}")
    return done.stderr


for order in ((1, watched), (1, plain)), ((1, plain), (1, watched)), ((2, watched), (1, plain)):
    said = run(*order)
    expected = LINE.format(sum(r for r, _ in order))
    if said.count("whywait") != 3 or expected not in said:  # the line has the word three times
        failures.append(f"{order}: expected one line, found: {said}")
said = run((1, watched), (1, watched))
if "2 ranks" not in said or "without whywait" in said:
    failures.append(f"two programs with whywait: no report: {said}")
for failure in failures:
    print(failure)
print("jobs of several programs")
sys.exit(1 if failures else 0)
