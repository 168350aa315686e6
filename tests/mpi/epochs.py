#!/usr/bin/env python3
"""A program explained in many epochs, for lack of memory, against the same program explained at once.

    epochs.py FOLDER PROGRAM RANKS TOLERANCE -- launcher ...

Both runs must find the same kinds of waits because of the same code, with times that agree within TOLERANCE; not one
message may be unmatched, not one record dropped. The waits last because somebody sleeps; on a busy machine sleeping takes
longer now and then, so both runs may be made again, five times at most, and of each time the median counts; losses must
be right every time.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

STEPS, MESSAGES = 20, 300
PREPARE, ANSWER = 0.030, 0.020  # seconds of the program's naps


def run(folder, program, launcher, memory):
    prefix = folder / memory
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(prefix), WHYWAIT_REPORT="none")
    done = subprocess.run([*launcher, program, str(STEPS), str(MESSAGES)], env=environment, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} with {memory} ended with {done.returncode}:\n{done.stdout}")
    with open(f"{prefix}.json", encoding="utf-8") as file:
        return json.load(file)


def known(result):
    """What it says, in seconds: of the run, of each pattern at each call and region, of what the two naps explain."""
    times = {"run": result["run"]["seconds"], "waiting": result["run"]["waiting_seconds"],
             "because of prepare": 0.0, "because of answer": 0.0}
    for wait in result["waits"]:
        key = " ".join([wait["pattern"], wait["operation"]["call"], wait["operation"].get("region", "")])
        times[key] = times.get(key, 0.0) + wait["seconds"]
        total = sum(term["seconds"] for term in wait["residual"]) + wait["unexplained_seconds"]
        if abs(total - wait["seconds"]) > 1e-6:
            sys.exit(f"an explanation does not add up: {total} for {wait['seconds']} s")
        for term in wait["residual"]:
            if f"because of {term['block']}" in times and term["seconds"] > 0:
                times[f"because of {term['block']}"] += term["seconds"]
    return times


def main():
    folder, program, ranks, tolerance = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    all_times = {"512M": [], "512K": []}
    for attempt in range(5):
        last = {}
        for memory in "512M", "512K":
            result = run(folder, program, launcher, memory)
            if result["run"]["dropped_events"] != 0 or result["run"]["unmatched"] != 0:
                sys.exit(f"records were lost: {result['run']}")
            last[memory] = result
            all_times[memory].append(known(result))
        whole, parts = last["512M"], last["512K"]
        a, b = ({what: statistics.median(times.get(what, 0.0) for times in all_times[memory])
                 for what in set().union(*all_times[memory])} for memory in ("512M", "512K"))
        if "epochs" in whole["run"] or parts["run"].get("epochs", 1) < 4:
            sys.exit(f"epochs: {whole['run'].get('epochs')} with much memory, {parts['run'].get('epochs')} with little")
        if whole["run"]["mpi_calls"] != parts["run"]["mpi_calls"]:
            sys.exit(f"{whole['run']['mpi_calls']} calls at once, {parts['run']['mpi_calls']} in epochs")
        apart = []
        for what in sorted({*a, *b}):
            if "MPI_Comm_dup" in what or "MPI_Finalize" in what:
                continue  # as they come
            one, other = a.get(what, 0.0), b.get(what, 0.0)
            agree = abs(one - other) <= tolerance * max(one, other) + 0.02 * ranks
            print(f"{what}: {one:.4f} s at once, {other:.4f} s in epochs{'' if agree else '  <- apart'}")
            if not agree:
                apart.append(what)
        # all others wait for rank 0 in each step; one rank waits for the answer of the last
        for nap, least in ("prepare", PREPARE * STEPS * (ranks - 1) * 0.9), ("answer", ANSWER * (STEPS - 1) * 0.5):
            if b[f"because of {nap}"] < least:
                apart.append(f"{nap} explains only {b[f'because of {nap}']:.4f} s, not {least:.4f} s")
        if not apart:
            print(f"in {parts['run']['epochs']} epochs as at once")
            return
        print(f"attempt {attempt + 1}: apart in {', '.join(apart)}")
    sys.exit(1)


main()
