#!/usr/bin/env python3
"""How often `whywait compare` names a change between runs of the same program: at most 1 in 20 is accepted.

    reruns.py --compare build/release/libexec/whywait/compare [--mpirun LAUNCHER] [--ranks 4] [--runs 40] [--keep FOLDER] PROGRAM...

Each program runs 40 times. Disjoint runs are compared one by one and three by three, 400 random choices of each; the first 20
pairs in the order of the runs are what a user sees who compares each run with the one before it.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile


def outcome(compare, before, after):
    done = subprocess.run([compare, "--quiet", "--json", "-", "--before", *before, "--after", *after], text=True, check=False,
                          stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return found["outcome"], found["least_seen_seconds"] / found["figures"][0]["before"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compare", required=True)
    options.add_argument("--mpirun", default="mpirun")
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--runs", type=int, default=40)
    options.add_argument("--keep", type=pathlib.Path)
    options.add_argument("programs", nargs="+")
    options = options.parse_args()
    chosen, too_many = random.Random(1), False
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        for program in options.programs:
            runs = []
            for number in range(options.runs):
                prefix = folder / f"{pathlib.Path(program).name}-{number:03}"
                if not prefix.with_suffix(".json").exists():
                    subprocess.run([options.mpirun, "-n", str(options.ranks), program], check=True, stdout=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, env=dict(os.environ, WHYWAIT_REPORT="none", WHYWAIT_OUTPUT=str(prefix)))
                runs.append(prefix.with_suffix(".json"))
            print(program)
            pairs = [([runs[2 * i]], [runs[2 * i + 1]]) for i in range(min(20, len(runs) // 2))]
            cases = [("each run with the one before it", pairs)]
            for each in (1, 3):
                picks = [chosen.sample(runs, 2 * each) for _ in range(400)]
                cases.append((f"{each} with {each} random runs", [(pick[:each], pick[each:]) for pick in picks]))
            for what, sides in cases:
                found = [outcome(options.compare, *side) for side in sides]
                named = sum(word != "same" for word, _ in found)
                too_many |= named > len(found) / 20
                limit = sum(share for _, share in found) / len(found)
                print(f"  {what}: {named} of {len(found)} named a change; a change of {100 * limit:.0f} % of the wall time would be seen")
    return 1 if too_many else 0


sys.exit(main())
