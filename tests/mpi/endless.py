#!/usr/bin/env python3
"""Compares a program with very many messages in little memory with a shorter twin with sufficient memory.

    endless.py FOLDER PROGRAM RANKS MESSAGES MESSAGES_OF_TWIN MEMORY -- launcher ...

The long run must stay within MEMORY (the toolkit's memory and the growth of the process), lose nothing, and agree
with the twin about calls per message and about waits and their causes, whose sleeping times are known.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

STEP = 20000  # messages of a rank between two operations of all ranks ranks ranks
PERIOD, PREPARE, ANSWER = 25, 0.060, 0.040
TOLERANCE = 0.05


def run(folder, program, ranks, launcher, messages, memory):
    prefix = folder / f"{messages}"
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(prefix), WHYWAIT_REPORT="none")
    began = time.monotonic()
    done = subprocess.run([*launcher, str(ranks), program, str(messages)], env=environment, stderr=subprocess.PIPE, text=True)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{program} {messages} ended with {done.returncode}:\n{done.stderr}")
    result = json.loads(pathlib.Path(f"{prefix}.json").read_text(encoding="utf-8"))
    grown = max(int(kib) for kib in re.findall(r"grew by (\d+) KiB", done.stderr))
    print(f"{messages} messages, {memory}: {took:.1f} s, run of {result['run']['seconds']:.1f} s, "
          f"{result['run'].get('epochs', 1)} epochs, grown by {grown / 1024:.1f} MiB", flush=True)
    return result, grown


def naps(result):
    """Seconds of waiting caused by either nap, at the calls that can wait for it."""
    found = {"prepare": 0.0, "answer": 0.0}
    for wait in result["waits"]:
        total = sum(term["seconds"] for term in wait["residual"]) + wait["unexplained_seconds"]
        if abs(total - wait["seconds"]) > 1e-6:
            sys.exit(f"an explanation does not add up: {total} for {wait['seconds']} s")
        for term in wait["residual"]:
            if term["block"] in found and term["seconds"] > 0:
                found[term["block"]] += term["seconds"]
    return found


def main():
    folder, program, memory = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[6]
    ranks, long, short = (int(argument) for argument in sys.argv[3:6])
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    twin, _ = run(folder, program, ranks, launcher, short, "4G")
    whole, grown = run(folder, program, ranks, launcher, long, memory)
    wrong = []
    if "epochs" in twin["run"] or whole["run"].get("epochs", 1) < 4:
        wrong.append(f"epochs: {twin['run'].get('epochs')} in the twin, {whole['run'].get('epochs')} in the long run")
    for result in twin, whole:
        if result["run"]["dropped_events"] != 0 or result["run"]["unmatched"] != 0:
            wrong.append(f"records were lost: {result['run']}")
    if grown > int(memory[:-1]) * 1024:
        wrong.append(f"grew by {grown} KiB with {memory}")

    def steps(messages):
        return messages // STEP // ranks

    def periods(messages, first):
        return (steps(messages) - first + PERIOD - 1) // PERIOD

    for result, messages in (twin, short), (whole, long):
        least = ranks * steps(messages) * (2 * STEP + STEP // 50 + 1)
        if not least <= result["run"]["mpi_calls"] <= least + 2 * periods(messages, 1) + 4 * ranks:
            wrong.append(f"{result['run']['mpi_calls']} calls for {messages} messages, at least {least} expected")
    each = {}
    for result, messages in (twin, short), (whole, long):
        found = naps(result)
        print(f"{messages} messages: because of prepare {found['prepare']:.3f} s, because of answer {found['answer']:.3f} s; "
              f"waiting {result['run']['waiting_seconds']:.3f} s")
        each[messages] = {"prepare": found["prepare"] / periods(messages, 0) / (ranks - 1),
                          "answer": found["answer"] / periods(messages, 1)}
    for nap, seconds in ("prepare", PREPARE), ("answer", ANSWER):
        one, other = each[short][nap], each[long][nap]
        print(f"each {nap}: {seconds:.3f} s; because of it in the twin {one:.4f} s, in the long run {other:.4f} s")
        if abs(one - other) > TOLERANCE * max(one, other) or other < (1 - TOLERANCE) * seconds:
            wrong.append(f"{nap}: {one} s a time in the twin, {other} s in the long run")
    for line in wrong:
        print("FAILED:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
