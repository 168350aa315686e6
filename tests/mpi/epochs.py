#!/usr/bin/env python3
"""Compares a program in many epochs, which little memory forces, with the same program in one epoch.

    epochs.py FOLDER PROGRAM RANKS -- launcher ...

Both must find the same waits with the same causes and the durations that the program's own time stamps in that run
give. No message may be unmatched and no record dropped.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

STEPS, MESSAGES = 20, 300


def run(folder, program, launcher, memory):
    prefix = folder / memory
    begin = time.monotonic()
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(prefix), WHYWAIT_REPORT="none")
    done = subprocess.run([*launcher, program, str(STEPS), str(MESSAGES)], env=environment, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} with {memory} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    with open(f"{prefix}.json", encoding="utf-8") as file:
        return json.load(file), json.loads(done.stdout), time.monotonic() - begin


# Pattern, call and region of the compared waits, the block that explains them (or all), and the key of the true value.
BARRIER = ("wait_at_barrier", "MPI_Barrier", "")
ACROSS = ("late_sender", "MPI_Wait", "across")
END = ("late_sender", "MPI_Wait", "")
KNOWN = [([BARRIER], None, "barrier"), ([ACROSS], None, "across"), ([END], None, "end"), ([BARRIER], "prepare", "prepare"),
         ([ACROSS, END], "answer", "answer")]


def wrong(result, truth, took, ranks):
    """The differences from the true values."""
    times, others = {}, 0.0
    for wait in result["waits"]:
        total = sum(term["seconds"] for term in wait["residual"]) + wait["unexplained_seconds"]
        if abs(total - wait["seconds"]) > 1e-6:
            sys.exit(f"an explanation does not add up: {total} for {wait['seconds']} s")
        key = (wait["pattern"], wait["operation"]["call"], wait["operation"].get("region") or "")
        times[key, None] = times.get((key, None), 0.0) + wait["seconds"]
        for term in wait["residual"]:
            times[key, term["block"]] = times.get((key, term["block"]), 0.0) + term["seconds"]
        if key not in (BARRIER, ACROSS, END) and key[1] not in ("MPI_Comm_dup", "MPI_Finalize"):  # may occur
            others += wait["seconds"]
    problems, interrupted = [], 0.010 * ranks  # the process may be descheduled between a stamp and its call
    for keys, block, name in KNOWN:
        seconds = sum(times.get((key, block), 0.0) for key in keys)
        print(f"{name}: {seconds:.4f} s, {truth[name]:.4f} s by the program's stamps")
        if abs(seconds - truth[name]) > 0.02 * truth[name] + interrupted:
            problems.append(f"{name}: {seconds:.4f} s, the program says {truth[name]:.4f} s")
    if others > interrupted:
        problems.append(f"{others:.4f} s of waits that the program does not know")
    run = result["run"]
    if not truth["barrier"] / max(1, ranks - 1) < run["seconds"] < took:
        problems.append(f"the run took {run['seconds']:.4f} s, its launcher {took:.4f} s")
    if abs(run["waiting_seconds"] - sum(wait["seconds"] for wait in result["waits"])) > 1e-3:
        problems.append(f"{run['waiting_seconds']} s of waiting are not those of all waits")
    return problems


def main():
    folder, program, ranks = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    problems, runs = [], {}
    for memory in "512M", "512K":
        print(f"with {memory}:")
        result, truth, took = run(folder, program, launcher, memory)
        runs[memory] = result["run"]
        if result["run"]["dropped_events"] != 0 or result["run"]["unmatched"] != 0:
            problems.append(f"records were lost: {result['run']}")
        problems += [f"with {memory}: {text}" for text in wrong(result, truth, took, ranks)]
    whole, parts = runs["512M"], runs["512K"]
    if "epochs" in whole or parts.get("epochs", 1) < 4:
        problems.append(f"epochs: {whole.get('epochs')} with much memory, {parts.get('epochs')} with little")
    if whole["mpi_calls"] != parts["mpi_calls"]:
        problems.append(f"{whole['mpi_calls']} calls at once, {parts['mpi_calls']} in epochs")
    if problems:
        sys.exit("\n".join(problems))
    print(f"in {parts['epochs']} epochs as at once")


main()
