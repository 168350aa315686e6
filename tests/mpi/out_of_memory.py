#!/usr/bin/env python3
"""One or two ranks run out of memory during the explanation, in MPI_Finalize or in the middle of the run.

    out_of_memory.py FOLDER PROGRAM RANKS -- launcher ...

The first allocations of the explanation fail in turn, then random ones (the seed is printed), either once or
permanently. A run with sufficient memory prints the number of allocations. The program must end by itself with exit
code 0 and all its own output. One line must name the failed rank and the reason, and the partial result must be
reported.
"""
import os
import pathlib
import random
import re
import subprocess
import sys

SEED = 20261122


def run(folder, program, launcher, ranks, arguments, memory):
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(folder / "out"), WHYWAIT_REPORT="full")
    done = subprocess.run([*launcher, program, *map(str, arguments)], env=environment, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    what = f"{' '.join(map(str, arguments))} with {memory}"
    if done.returncode != 0 or done.stdout.count("all is well") != ranks:
        sys.exit(f"{what}: ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    lines = re.findall(r"^whywait: .*: rank (\d+): (.*)$", done.stderr, re.M)
    first = [line for line in lines if line[1] == "std::bad_alloc"]
    report = done.stderr.count("whywait · ")
    alone = len(re.findall(r"^whywait: rank 0 of \d+ ended by MPI_Finalize", done.stderr, re.M))
    if report + alone != 1 or len(lines) > 3 or len(lines) != len(first):
        sys.exit(f"{what}: {report} reports, {alone} last words, {len(lines)} lines\n{done.stderr}")
    victims = {str(rank) for rank in arguments[1::3]}
    if any(line[0] not in victims for line in first):
        sys.exit(f"{what}: a line about a rank that did not fail\n{done.stderr}")
    # a failure after the text report is complete affects the JSON file only, and the line must report that
    said = any("bad_alloc" in line for line in done.stderr.splitlines() if not line.startswith("whywait: "))
    if first and report and not said and "whywait: cannot write the JSON file: rank " not in done.stderr:
        sys.exit(f"{what}: the report does not say why it is short\n{done.stderr}")
    allocations = {int(rank): int(n) for rank, n in re.findall(r"^rank (\d+): (\d+) allocations$", done.stdout, re.M)}
    if len(allocations) != ranks:
        sys.exit(f"{what}: not every rank says how much memory it asked for\n{done.stdout}")
    end = "explained" if not first else "facts" if report else "last words"
    return "explained to there" if how_many_epochs(done.stderr) else end, allocations


def how_many_epochs(text):
    """The number of epochs of a run that is explained only up to some point."""
    epochs = re.search(r"in (\d+)\s+epochs", text)
    return int(epochs[1]) if epochs and "the analysis failed, later waits are not explained" in text and "of which nothing" not in text else 0


def main():
    split = sys.argv.index("--")
    folder, program, ranks = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    launcher = sys.argv[split + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    pick = random.Random(SEED)
    print(f"seed {SEED}")
    seen = {}
    for how, memory in (("at_end", "64M"), ("in_epoch", "128K")):
        end, most = run(folder, program, launcher, ranks, [how], memory)  # no failure
        if end != "explained" or min(most.values()) < 50:
            sys.exit(f"{how}: {end} after {most} allocations, though there is memory")
        for k in range(8):
            # The first allocations, random but mostly early ones with a second failing rank, and random late ones,
            # which fail once only. One of them is in the middle of the analysis, the main work of ranks that write no
            # report.
            rank, other = pick.randrange(ranks) if k != 5 else 1 + pick.randrange(ranks - 1), pick.randrange(ranks)
            late = most[rank] // 3 + pick.randrange(most[rank] * 2 // 3 if k != 5 else most[rank] // 4)
            at = k + 1 if k < 2 else int(most[rank] ** pick.random()) if k < 5 else late
            arguments = [how, rank, at, pick.randrange(2) if k < 5 else 0]
            if k in (2, 3):
                arguments += [other, int(most[other] ** pick.random()), 0]
            end, _ = run(folder, program, launcher, ranks, arguments, memory)
            seen[how, end] = seen.get((how, end), 0) + 1
    print(", ".join(f"{how} {end}: {n}" for (how, end), n in sorted(seen.items())))
    if not seen.get(("at_end", "facts")) or not seen.get(("in_epoch", "explained to there")):
        sys.exit("too few failures to say anything")


main()
