#!/usr/bin/env python3
"""Memory ends on one or two ranks while the run is explained, in MPI_Finalize or in the middle of the run.

    out_of_memory.py FOLDER PROGRAM RANKS -- launcher ...

At any allocation of the explanation (the first ones, then at random: the seed is printed), once or from then on. The
program must end by itself with 0 and all its own output; one line says who failed and why, and what can be said is said.
"""
import os
import pathlib
import random
import re
import subprocess
import sys

SEED = 20261122


def run(folder, program, launcher, ranks, arguments, memory):
    environment = dict(os.environ, WHYWAIT_MEMORY=memory, WHYWAIT_OUTPUT=str(folder / "out"))
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
    victims = {str(arguments[1]), str(arguments[4]) if len(arguments) > 4 else ""}
    if any(line[0] not in victims for line in first):
        sys.exit(f"{what}: a line about a rank that did not fail\n{done.stderr}")
    if first and report and not any("bad_alloc" in line for line in done.stderr.splitlines() if not line.startswith("whywait: ")):
        sys.exit(f"{what}: the report does not say why it is short\n{done.stderr}")
    if how_many_epochs(done.stderr):
        return "explained to there"
    return "explained" if not first else "facts" if report else "last words"


def how_many_epochs(text):
    """Of a run that is explained only up to somewhere: in how many epochs."""
    epochs = re.search(r"in (\d+)\s+epochs", text)
    return int(epochs[1]) if epochs and "only up to here" in text and "of which nothing" not in text else 0


def main():
    split = sys.argv.index("--")
    folder, program, ranks = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    launcher = sys.argv[split + 1:]
    folder.mkdir(parents=True, exist_ok=True)
    pick = random.Random(SEED)
    print(f"seed {SEED}")
    seen = {}
    for how, memory, most in (("at_end", "64M", 4000), ("in_epoch", "128K", 4500)):
        for k in range(8):
            # the very first, anywhere but mostly early with a second victim, anywhere late: there once only
            at = k + 1 if k < 2 else int(most ** pick.random()) if k < 5 else most // 3 + pick.randrange(most * 2 // 3)
            arguments = [how, pick.randrange(ranks), at, pick.randrange(2) if k < 5 else 0]
            if k in (2, 3):
                arguments += [pick.randrange(ranks), int(most ** pick.random()), 0]
            end = run(folder, program, launcher, ranks, arguments, memory)
            seen[how, end] = seen.get((how, end), 0) + 1
    print(", ".join(f"{how} {end}: {n}" for (how, end), n in sorted(seen.items())))
    if not seen.get(("at_end", "facts")) or not seen.get(("in_epoch", "explained to there")):
        sys.exit("too few failures to say anything")


main()
