#!/usr/bin/env python3
"""A regression put into an example on purpose is found with its cause, and a rerun of the same program is not a change.

    regression.py --compare COMPARE --mpirun LAUNCHER PROGRAM REGRESSED

The regression makes rank 2 sleep in migrate, which is inherited by the ranks that wait for it in the next step.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from attempts import attempts

RUNS = 3


def compare(program, before, after, folder):
    out = folder / "compared.json"
    done = subprocess.run([program, "--json", out, "--before", *before, "--after", *after], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, flush=True)
    return done.returncode, json.loads(out.read_text(encoding="utf-8"))


def try_once(options, folder):
    """Sentences about what is wrong."""
    def run(program, name):
        environment = dict(os.environ, WHYWAIT_REPORT="none", WHYWAIT_OUTPUT=str(folder / name))
        subprocess.run([options.mpirun, "-n", "4", program], env=environment, check=True, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return folder / f"{name}.json"
    # in turn, so that what disturbs the machine for a while disturbs all
    before, again, worse = [], [], []
    for number in range(RUNS):
        before.append(run(options.program, f"before{number}"))
        worse.append(run(options.regressed, f"worse{number}"))
        again.append(run(options.program, f"again{number}"))
    failures = []
    code, found = compare(options.compare, before, again, folder)
    if code != 0 or found["outcome"] != "same":
        failures.append(f"a rerun ended with {code}: {found['outcome']}")
    code, found = compare(options.compare, before, worse, folder)
    if code != 1 or found["outcome"] != "worse" or found["figures"][0]["change"] != "worse":
        failures.append(f"the regression ended with {code}: {found['outcome']}")
    causes = [block["block"] for block in found["wall_time_causes"]]
    if causes[:1] != ["migrate"]:
        failures.append(f"the wall time is said to be longer because of {causes}")
    blamed = [wait for wait in found["waits"] if wait.get("rank") == 2
              and any(block["block"] == "migrate" and block["after"] > block["before"] for block in wait["why"])]
    if not blamed:
        failures.append("no kind of waits is blamed on migrate of rank 2")
    return failures


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--compare", required=True)
    options.add_argument("--mpirun", required=True)
    options.add_argument("program")
    options.add_argument("regressed")
    options = options.parse_args()
    for number in attempts(2):
        with tempfile.TemporaryDirectory() as name:
            failures = try_once(options, pathlib.Path(name))
        if not failures:
            break
        for failure in failures:
            print(f"try {number}: {failure}", flush=True)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


sys.exit(main())
