#!/usr/bin/env python3
"""Each problem that WHYWAIT_RULES=list names is found in a real program.

    problems.py FOLDER PROGRAM -- launcher ...

PROGRAM plays the problems, some per argument. Sleeps of a busy machine are late, so a play has three tries.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

PLAYS = {
    "order": ["late_sender"],
    "synchronous": ["late_receiver"],
    "wrong_order": ["wrong_order"],
    "relay": ["serialised_pipeline"],
    "collectives": ["late_broadcast", "early_reduce", "early_scan", "wait_at_create"],
    "everybody": ["wait_at_barrier", "wait_at_nxn", "needless_barrier", "wait_at_finalize"],
    "uneven": ["uneven_work"],
    "slower": ["slower_visits"],
    "turns": ["slow_block"],
    "serial": ["serial_work"],
    "shared": ["shared_processor"],
    "place": ["slow_rank"],
    "small_messages": ["small_messages"],
    "bursts": ["aggregate_messages"],
    "large": ["slow_completion"],
}


def run(folder, program, launcher, play):
    prefix = folder / play
    environment = dict(os.environ, WHYWAIT_OUTPUT=str(prefix), WHYWAIT_REPORT="none", WHYWAIT_RULES="list")
    done = subprocess.run([*launcher, program, play], env=environment, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {play} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    with open(f"{prefix}.json", encoding="utf-8") as file:
        return json.load(file), done.stderr


def wrong(result):
    """What no report may say: a saving above the run, a finding above all rank time."""
    found, whole = [], result["run"]
    entries = [a for wait in result["waits"] for a in wait["advice"]] + result["problems"]
    for entry in entries:
        if entry["saving_seconds"] > 1.001 * whole["seconds"]:
            found.append(f"{entry['problem']} saves {entry['saving_seconds']} s of a run of {whole['seconds']} s")
        if entry["seconds"] > 1.001 * whole["location_seconds"]:
            found.append(f"{entry['problem']} takes {entry['seconds']} s of {whole['location_seconds']} s")
    return found


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    listed, problems = set(), []
    for play, names in PLAYS.items():
        for attempt in range(3):
            result, printed = run(folder, program, launcher, play)
            listed.update(re.findall(r"^  (\w+) +for \w+ \(built-in", printed, re.MULTILINE))
            said = {a["problem"] for wait in result["waits"] for a in wait["advice"]} | {p["problem"] for p in result["problems"]}
            problems += wrong(result)
            missing = [name for name in names if name not in said]
            if not missing:
                break
        print(f"{play}: {', '.join(sorted(said))}")
        if missing:
            problems.append(f"{play}: no {', '.join(missing)} in three runs")
    played = {name for names in PLAYS.values() for name in names}
    if not listed:
        problems.append("WHYWAIT_RULES=list printed no problem")
    for name in sorted(listed - played):
        problems.append(f"{name} is listed, and no program plays it")
    for name in sorted(played - listed):
        problems.append(f"{name} is played, and not listed")
    sys.exit("\n".join(problems) or 0)


main()
