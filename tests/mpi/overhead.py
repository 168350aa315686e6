#!/usr/bin/env python3
"""Runs a program with expensive measurement and compares the predicted run without overhead with a real one.

    overhead.py --program PATH [--tries N] [--robust] -- launcher ...

Each pair is one run with the normal clock and one with an expensive clock. The work of the program takes time but no
processor. On a busy machine it may still be late, so that the best of several pairs counts. With --robust only the
expensive runs are made, and only properties that hold on a busy machine are checked. The toolkit measured
at least the cost of its readings; without them the run is shorter, in the first case with more waiting; and no time is lost,
because the overhead of all ranks was either part of the run of each rank or hid waiting.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from attempts import attempts  # noqa: E402

# Name, arguments, arguments of the expensive run, minimum relative error of the waits caused by measurement, maximum
# error of the compensation in total and waits, minimum seconds of the readings (two per piece of work and about 5
# calls per exchange), and whether they hide more waits than they cause. Calls that time themselves, as in the second case, read
# the clock twice as often.
RUN_TO_RUN = 0.001  # two runs of the same program differ by as much; beyond it the stated error must cover the truth
CASES = [("known at MPI_Init", "--steps 60", "--reading 300", 0.4, 0.015, 0.05,
          sum(60 * 300e-6 * 2 * (2 + 4 * rank + 5.2) for rank in range(4)), True),
         ("becomes expensive after MPI_Init", "--steps 70 --exchanges 4", "--reading 60 --late", 0.1, 0.015, 0.05,
          sum(70 * rank * 60e-6 * 2 * (2 + 4 * rank + 4 * 5) for rank in range(4)), False)]


def robust(name, seen, taken, hides, ranks):
    """The errors in one expensive run."""
    shorter = seen["run_seconds"] - seen["without_seconds"]
    hidden = seen["waiting_without_seconds"] - seen["waiting_seconds"]
    print(f"{name}: noticed {seen['seconds']:.3f} s of at least {taken:.3f} s; total {seen['run_seconds']:.3f} s, compensated "
          f"{seen['without_seconds']:.3f} s; waits {seen['waiting_seconds']:.3f} s, compensated "
          f"{seen['waiting_without_seconds']:.3f} s", flush=True)
    problems = []
    if seen["seconds"] < 0.9 * taken:
        problems.append("less was noticed than the readings took")
    if not 0 < shorter <= 1.01 * seen["bound_seconds"]:
        problems.append(f"without them the run is shorter by {shorter:.3f} s, bound {seen['bound_seconds']:.3f} s")
    # the run of each rank is its work, overhead and waiting; 5 % allows for overestimated overhead
    lost = seen["seconds"] - ranks * shorter - hidden
    if (hides and hidden <= 0) or abs(lost) > 0.05 * seen["seconds"]:
        problems.append(f"it hid {hidden:.3f} s of waiting, and {lost:.3f} s are lost")
    return [f"{name}: {text}" for text in problems]


def main():
    split = sys.argv.index("--")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", required=True)
    options.add_argument("--ranks", default="4")
    options.add_argument("--tries", type=int, default=3)
    options.add_argument("--longer", type=int, default=1, help="times that all work and readings take longer")
    options.add_argument("--robust", action="store_true")
    options = options.parse_args([a for a in sys.argv[1:split] if a])
    launcher = sys.argv[split + 1:]
    scratch = tempfile.TemporaryDirectory(prefix="overhead.")
    directory = pathlib.Path(scratch.name)

    def run(arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_")}
        environment |= {"WHYWAIT_REPORT": "none", "WHYWAIT_OUTPUT": "run", "WHYWAIT_CLOCK": "monotonic"}
        command = launcher + [options.ranks, options.program, "--longer", str(options.longer)] + arguments.split()
        subprocess.run(command, cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=100)
        result = json.loads((directory / "run.json").read_text())
        return result["overhead"] | {"waiting_seconds": result["run"]["waiting_seconds"]}

    failures = []
    for name, arguments, expensive, least, most_total, most_waits, taken, hides in CASES:
        good = False
        if options.robust:
            for _ in attempts(options.tries):  # another process may hold up one run by more than the readings
                problems = robust(name, run(f"{arguments} {expensive} --forgive"), taken * options.longer, hides,
                                  int(options.ranks))
                if not problems:
                    break
            failures += problems
            continue
        for _ in attempts(options.tries):
            truth, seen = run(arguments), run(f"{arguments} {expensive}")
            total, waits = truth["run_seconds"], truth["waiting_seconds"]
            off = {"measured": (seen["run_seconds"] / total - 1, seen["waiting_seconds"] / waits - 1),
                   "without": (seen["without_seconds"] / total - 1, seen["waiting_without_seconds"] / waits - 1)}
            share = seen["seconds"] / (int(options.ranks) * seen["run_seconds"])
            print(f"{name}: {100 * share:.0f} % overhead; total {total:.3f} s: measured {100 * off['measured'][0]:+.1f} %, "
                  f"compensated {100 * off['without'][0]:+.2f} % (said to be known to {100 * seen['error_seconds'] / total:.1f} %); "
                  f"waits {waits:.3f} s: measured {100 * off['measured'][1]:+.1f} %, compensated {100 * off['without'][1]:+.1f} %; "
                  f"bound {100 * seen['bound_seconds'] / total:.1f} %", flush=True)
            good = abs(off["measured"][1]) >= least and abs(off["without"][0]) <= most_total and \
                abs(off["without"][1]) <= most_waits and \
                abs(off["without"][0]) <= seen["error_seconds"] / total + RUN_TO_RUN
            if good:
                break
        if not good:
            failures.append(name)
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
