#!/usr/bin/env python3
"""Compares a program with registered data in many epochs, forced by little memory, with the same program in one epoch.

    data_epochs.py FOLDER PROGRAM RANKS -- launcher ...

Both reports must agree about the data except for times, including classes with counts and bytes, their problems,
distributions, loops and sharing. In both, the classes must contain the waits of the explanation, and nothing may be
lost.
"""
import json
import os
import pathlib
import subprocess
import sys

STEPS, NAP = 50, 0.001
MUCH, LITTLE = "512M", "512K"


def run(folder, program, launcher, who, memory):
    prefix = folder / f"{who}.{memory}"
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(prefix), WHYWAIT_REPORT="none")
    done = subprocess.run([*launcher, program, str(STEPS), who], env=environment, timeout=90,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} with {memory} ended with {done.returncode}:\n{done.stdout}")
    with open(f"{prefix}.json", encoding="utf-8") as file:
        return json.load(file)


def timeless(value):
    """Removes times and sorts lists that are ordered by time."""
    if isinstance(value, dict):
        return {key: timeless(entry) for key, entry in value.items() if "seconds" not in key}
    if isinstance(value, list):
        return sorted((timeless(entry) for entry in value), key=lambda entry: json.dumps(entry, sort_keys=True))
    return value


def compare(folder, program, launcher, who, ranks):
    """The errors in both reports."""
    results = {memory: run(folder, program, launcher, who, memory) for memory in (MUCH, LITTLE)}
    problems = []
    for memory, result in results.items():
        if result["run"]["dropped_events"] != 0 or result["run"]["unmatched"] != 0:
            problems.append(f"{memory}: records were lost: {result['run']}")
        if any("data" in text or "array" in text for text in result["run"].get("warnings", [])):
            problems.append(f"{memory}: {result['run']['warnings']}")
        # Rank 0 sleeps before it sends to its neighbours, which wait for nothing else at that time.
        waited = sum(c["wait_seconds"] for c in result["communication_classes"] if c["to"]["region"] == "halo")
        said = sum(w["seconds"] for w in result["waits"] if w["operation"].get("region") == "halo")
        if waited < 0.9 * NAP * STEPS * min(2, ranks - 1) or abs(waited - said) > 0.02 * waited:
            problems.append(f"{memory}: {waited} s of waiting are with the classes of halo, {said} s with its waits")
    epochs = [results[memory]["run"].get("epochs", 1) for memory in (MUCH, LITTLE)]
    if epochs[0] != 1 or epochs[1] < 5:
        problems.append(f"epochs: {epochs[0]} with much memory, {epochs[1]} with little")
    for what in "communication_classes", "distributions", "sharing":
        one, other = (timeless(results[memory][what]) for memory in (MUCH, LITTLE))
        if not one or (what == "sharing" and not any(entry["misses"] > STEPS for entry in one)):
            problems.append(f"nothing is said of {what}")
        for entry in one:
            if entry not in other:
                problems.append(f"{what}: only at once: {json.dumps(entry)}")
        for entry in other:
            if entry not in one:
                problems.append(f"{what}: only in epochs: {json.dumps(entry)}")
    classes = results[LITTLE]["communication_classes"]
    print(f"shared by {who}: {epochs[1]} epochs, {len(classes)} classes of {sum(c['count'] for c in classes)} transfers")
    return problems


def main():
    folder, program, ranks = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    problems = [f"{who}: {text}" for who in ("threads", "ranks") for text in compare(folder, program, launcher, who, ranks)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{ranks} ranks")


main()
