#!/usr/bin/env python3
"""Runs programs whose waits are known (slept_cases.hpp, known_causes.cpp) with all calls and all numbers of ranks.

    known_waits.py FOLDER PROGRAM=SOURCE ... --ranks 2 4 8 [--only WORD] [--seconds S] -- launcher -n

Each run prints one line, and what failed if it fails in all tries."""
import argparse
import pathlib
import re
import subprocess
import sys
import time

CHECK = pathlib.Path(__file__).resolve().parents[1] / "check.py"


def environment_of(source):
    found = re.search(r"^// environment: (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].split() if found else []


def main():
    split = sys.argv.index("--")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--ranks", type=int, nargs="+", required=True)
    options.add_argument("--only", default="")
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("programs", nargs="+", metavar="PROGRAM=SOURCE")
    options = options.parse_args(sys.argv[1:split])
    launcher, failed = sys.argv[split + 1:], 0
    for pair in options.programs:
        program, source = (pathlib.Path(part).resolve() for part in pair.split("="))
        if options.only not in source.stem:
            continue
        for ranks in options.ranks:
            begin = time.monotonic()
            done = subprocess.run([sys.executable, CHECK, "--checks", source, "--ranks", str(ranks), "--seconds",
                                   str(options.seconds), "--directory", options.folder.resolve() / f"{source.stem}.{ranks}", "--",
                                   *environment_of(source), *launcher, str(ranks), program, "every"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            cases = len(re.findall(r"^ok |\d s, truth", done.stdout, re.MULTILINE))
            good = done.returncode == 0 and cases > 0
            failed += not good
            print(f"{'ok' if good else 'FAILED'}: {source.stem} on {ranks}: {cases} waits, "
                  f"{time.monotonic() - begin:.0f} s", flush=True)
            if not good:
                print("\n".join("  " + line for line in done.stdout.splitlines() if re.search("FAILED|^off|also|try", line)))
    return 1 if failed else 0


sys.exit(main())
