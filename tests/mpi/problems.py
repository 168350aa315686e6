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
    "order": ["send_after_work"],
    "synchronous": ["late_receiver", "work_in_turn"],
    "progress": ["wait_for_progress"],
    "wrong_order": ["wrong_order"],
    "relay": ["late_sender", "serialised_pipeline"],
    "collectives": ["late_broadcast", "early_reduce", "early_scan", "wait_at_create", "nonblocking_collective"],
    "windows": ["wait_at_fence", "late_post", "early_wait", "late_complete", "window_lock_contention"],
    "everybody": ["wait_at_barrier", "wait_at_nxn", "wait_at_finalize"],
    "barriers": ["needless_barrier"],
    "dividing": ["dividing_barrier"],
    "uneven": ["uneven_work"],
    "slower": ["slower_visits"],
    "turns": ["slow_block"],
    "serial": ["serial_work"],
    "shared": ["shared_processor"],
    "faults": ["page_faults"],
    "system_calls": ["system_calls"],
    "crowded": ["few_processors"],
    "kernel": ["time_in_kernel"],
    "place": ["slow_rank"],
    "small_messages": ["small_messages"],
    "bursts": ["aggregate_messages"],
    "large": ["slow_completion"],
    "chain": ["uneven_work"],
    "halo": ["uneven_work"],
}
# What the main finding says, what it saves (seconds, as the program's work is known), and what must not be said.
VERDICTS = {
    "uneven": ("uneven_work", r"^rank 1 takes [\d.]+ times as long as the others in solve \(3 times the units of work\)", 0.075),
    "slower": ("slower_visits", r"^rank 1 takes [\d.]+ times .* in solve, at the same number of units of work", 0.1),
    "serial": ("serial_work", r"^only rank 0 runs work;", 0.075),
    "chain": ("uneven_work", r"^rank 1 takes [\d.]+ times as long as the others in solve \(with as many visits\)", 0.3),
    "halo": ("uneven_work", r"^rank 1 takes [\d.]+ times as long as the others in solve \(with as many visits\)", 0.3),
}
NOT_SAID = {
    "chain": ["slow_block", "serialised_pipeline", "slower_visits", "slow_rank"],
    "halo": ["slow_block", "serialised_pipeline", "slower_visits", "slow_rank", "wrong_order"],
    "uneven": ["slower_visits", "slow_rank"],
    "place": ["slow_block", "uneven_work"],
    "turns": ["uneven_work", "slow_rank"],
    "faults": ["slower_visits", "uneven_work", "shared_processor", "system_calls"],
    "system_calls": ["slower_visits", "uneven_work", "shared_processor", "page_faults"],
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


def entries_of(result):
    return [a for wait in result["waits"] for a in wait["advice"]] + result["problems"]


def wrong(result):
    """What no report may say: a saving above the run, a finding above all rank time."""
    found, whole = [], result["run"]
    for entry in entries_of(result):
        if entry["saving_seconds"] > 1.001 * whole["seconds"]:
            found.append(f"{entry['problem']} saves {entry['saving_seconds']} s of a run of {whole['seconds']} s")
        if entry["seconds"] > 1.001 * whole["location_seconds"]:
            found.append(f"{entry['problem']} takes {entry['seconds']} s of {whole['location_seconds']} s")
    return found


def misjudged(result, play):
    """What is wrong with the main finding of a play."""
    found = [f"{play}: {a['problem']} is not the cause" for a in entries_of(result) if a["problem"] in NOT_SAID.get(play, [])]
    if play not in VERDICTS:
        return found
    name, words, saving = VERDICTS[play]
    main = [a for a in entries_of(result) if a["problem"] == name]
    if len(main) != 1:
        found.append(f"{play}: {name} is found {len(main)} times")
    for a in main:
        if not re.search(words, a["description"]):
            found.append(f"{play}: {a['description']}")
        if not 0.7 * saving <= a["saving_seconds"] <= 1.3 * saving:
            found.append(f"{play}: {name} saves {a['saving_seconds']:.3f} s, the truth is {saving} s")
        if "call MPI_" in a["text"]:
            found.append(f"{play}: the program sends first, but: {a['text']}")
    return found


# The problems of threads: tests/threads/primitives.cpp makes a wait for each primitive, tests/threads/wakeups.cpp plays those of
# wake-ups and writers, and tests/unit/rules evaluates them.
OF_THREADS = {"condition_variable", "future", "iteration_order", "join", "large_tasks", "latch", "lost_wakeup", "mutex_contention", "needless_wakeups",
              "no_overlap", "semaphore", "single_work", "starved_readers", "starved_writers", "thread_barrier", "unnotified_wait", "work_under_lock"}

# Those of registered data: tests/mpi/data_report.cpp has what rules see of it, tests/unit/rules evaluates them.
OF_DATA = {"false_sharing", "remote_pages"}


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    launcher = sys.argv[sys.argv.index("--") + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    listed, problems = set(), []
    for play, names in PLAYS.items():
        for attempt in range(6):  # other programs may have the processors for most of such short runs
            result, printed = run(folder, program, launcher, play)
            listed.update(re.findall(r"^  (\w+) +for \w+ \(built-in", printed, re.MULTILINE))
            said = {a["problem"] for wait in result["waits"] for a in wait["advice"]} | {p["problem"] for p in result["problems"]}
            problems += wrong(result)
            failed = [f"{play}: no {name}" for name in names if name not in said] + misjudged(result, play)
            if not failed:
                break
        print(f"{play}: {', '.join(sorted(said))}")
        problems += failed
    played = {name for names in PLAYS.values() for name in names}
    if not listed:
        problems.append("WHYWAIT_RULES=list printed no problem")
    for name in sorted(listed - played - OF_THREADS - OF_DATA):
        problems.append(f"{name} is listed, and no program plays it")
    for name in sorted(played - listed):
        problems.append(f"{name} is played, and not listed")
    sys.exit("\n".join(problems) or 0)


main()
