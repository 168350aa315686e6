#!/usr/bin/env python3
"""Runs a page of docs/ word for word, in an empty folder.

    tutorial.py PAGE [--mpicxx C++] [--mpicc C] [--mpirun LAUNCHER] [--observer OBJECT]

A fenced block "```cpp NAME" is written to the file NAME, "```sh" is run by bash with $WHYWAIT set to the checkout, and the lines of
"```text" must occur in what the last "```sh" printed, whatever the numbers and units are; "..." stands for anything. With --observer the page's observe.o is a copy of an
object that was compiled from the same header, which takes a minute less.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tools

sys.path.insert(0, str(tools.ROOT / "tests"))
from attempts import attempts  # noqa: E402

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
COMPILED = """echo '#include <whywait/mpi.hpp>' > observe.cpp
mpicxx -std=c++17 -O1 -g1 -I "$WHYWAIT/include" -c observe.cpp
"""
NUMBER = re.compile(r"(?<![\w.:])[+-]?\d[\d.,:]*(?: ?(?:s|ms|us|ns|%)(?!\w))?")


def masked(text):
    return " ".join(NUMBER.sub("#", text).split())


def lacks(printed, text):
    """The lines of `text` that were not printed."""
    found = masked(printed)
    return [line for line in text.splitlines() if line.strip() != "..." and masked(line) not in found]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("page", type=pathlib.Path)
    for tool in ("mpicxx", "mpicc", "mpirun"):
        options.add_argument(f"--{tool}", default=tool)
    options.add_argument("--observer", type=pathlib.Path)
    options = options.parse_args()
    for tool in ("mpicxx", "mpicc", "mpirun"):  # a bare name would find the script below itself
        found = shutil.which(getattr(options, tool))
        if found is None:
            sys.exit(f"FAILED: no {getattr(options, tool)}")
        setattr(options, tool, os.path.abspath(found))
    failures, steps, script, printed = [], 0, "", ""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / ".bin").mkdir()
        (folder / ".bin" / "mpirun").write_text(f'#!/bin/sh\nexec "{options.mpirun}" "$@"\n')
        for tool in ("mpicxx", "mpicc"):
            (folder / ".bin" / tool).write_text(f'#!/bin/sh\nexec "{getattr(options, tool)}" "$@"\n')
        for tool in (folder / ".bin").iterdir():
            tool.chmod(0o755)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WHYWAIT")}
        environment.update(WHYWAIT=str(tools.ROOT), PATH=f"{folder / '.bin'}:{os.environ['PATH']}")

        def run(commands):
            print("$", commands, flush=True)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment, text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            print(done.stdout, flush=True)
            if done.returncode != 0:
                sys.exit(f"FAILED: step {steps} ended with {done.returncode}")
            return done.stdout

        for match in BLOCK.finditer(options.page.read_text(encoding="utf-8")):
            kind, file, text = match.groups()
            if file:
                (folder / file).write_text(text, encoding="utf-8")
            elif kind == "sh":
                if options.observer and COMPILED in text:
                    text = text.replace(COMPILED, f"cp '{options.observer}' observe.o\n")
                    options.observer = None
                steps, script = steps + 1, text
                printed = run(script)
            elif kind == "text":
                missing = lacks(printed, text)
                # what a program waits for depends on what else runs on the machine
                again = "".join(line for line in script.splitlines(True) if "mpirun" in line)
                for _ in attempts(2) if missing and again else ():
                    missing = lacks(run(again), text)
                    if not missing:
                        break
                failures += [f"step {steps} did not print: {line}" for line in missing]
    if options.observer:
        failures.append(f"{options.page.name} does not compile the observer as expected: {COMPILED}")
    tools.end(failures, f"{steps} steps of {options.page.name}")


main()
