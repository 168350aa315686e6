#!/usr/bin/env python3
"""Runs one command and checks its exit code and output.

    check.py [--checks FILE [--run N]] [--ranks N] [--seconds S] [--directory DIR] -- command ...

Checks are lines of FILE, alone (*.check) or as comments in a source file ("// stderr ~ late sender"):

    exit 0 | exit nonzero | exit any      how the program must end (default: exit 0)
    stdout ~ REGEX                        must be found (multi-line: ^ and $ are ends of lines)
    stdout !~ REGEX                       must not be found
    stderr ~, stderr !~                   likewise for standard error
    file NAME ~ REGEX, file NAME !~ REGEX likewise for a file that the program wrote
    no file NAME                          the program must not have written it
    json NAME                             must be JSON
    page NAME                             must be a page of the JSON file beside it (page/structure.py)
    tries N                               for programs that measure sleep: a run that ends by itself and fails is made again,
                                          N times in all, and more often while other programs disturb it (attempts.py)

In a .check file each line "run: ..." (read by CMake: ranks, arguments, environment, timeout) begins a run;
--run N selects the N-th. {ranks} stands for the number of ranks. The program runs in its own empty directory, without
the caller's WHYWAIT_* variables, in a locale with UTF-8. Without WHYWAIT_OUTPUT it is set, so that every program writes its report,
and no report may contradict itself (consistent.py). A program in tests that checks standard error prints the full report, all
others, and examples, the short one, which must fit 25 lines of 80 columns; the text file has the full one. After S seconds it is killed with all its children, which is a failure.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap

import consistent
from attempts import attempts
from page import structure

CHECK = re.compile(r"^(?://\s*)?(?:(exit)\s+(0|nonzero|any)"
                   r"|(stdout|stderr|file\s+\S+)\s+(!?~)\s+(.+)"
                   r"|(no file|json|page)\s+(\S+)|(tries)\s+(\d+))\s*$")
MISSPELT = re.compile(r"^(?://\s*)?(exit|stdout|stderr|file|no file|json|page)\b.*~")


def read_checks(path, run):
    checks, current = [], 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if path.suffix != ".check" and not line.startswith("//"):
            if line.strip():
                break  # only the comment at the top of a source file is read
            continue
        if line.startswith("run:"):
            current += 1
            continue
        if path.suffix == ".check" and (not line.strip() or line.startswith("#")):
            continue
        if path.suffix == ".check" and current not in (0, run):
            continue
        match = CHECK.match(line)
        if match:
            checks.append((f"{path.name}:{number}", match))
        elif path.suffix == ".check" or MISSPELT.match(line):
            sys.exit(f"{path}:{number}: not a check: {line}")
    return checks


MOST_LINES, COLUMNS = 25, 80


def too_long(text):
    """The short reports in a text that need more lines of a terminal than they may have."""
    reports, current = [], None
    for line in text.splitlines():
        if line.startswith("whywait · "):
            current = []
            reports.append(current)
        elif not re.match(r"$| +\S", line):
            current = None
        if current is not None:
            current.append(line)
    found = []
    for report in reports:
        while not report[-1]:
            report.pop()
        lines = sum(max(1, len(textwrap.wrap(line, COLUMNS))) for line in report)
        if lines > MOST_LINES:
            found.append(f"the short report has {lines} lines of {COLUMNS} columns")
    return found


def contradictions(directory, text):
    """What cannot be true in the reports that the program wrote; its text is considered if there is one report."""
    found, reports = [], {}
    for path in sorted(directory.glob("*.json")):
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # for a check "json NAME"
        if isinstance(report, dict) and report.get("schema") == "whywait/1":
            reports[path.name] = report
    alone = len(reports) == 1 and len(re.findall("^whywait · ", text, re.MULTILINE)) == 1
    for name, report in reports.items():
        found += [f"{name}: {c}" for c in consistent.contradictions(report, text if alone else None)]
        full = directory / (name[:-len(".json")] + ".txt")
        if full.exists():
            found += [f"{full.name}: {c}" for c in consistent.contradictions(report, full.read_text(encoding="utf-8"))]
    return found


def run_once(command, environment, directory, options, checks):
    """What failed, the exit code, and both outputs."""
    if directory:
        environment.setdefault("WHYWAIT_OUTPUT", "report")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    child = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    failures = []
    try:
        out, err = child.communicate(timeout=options.seconds)
    except subprocess.TimeoutExpired:
        # terminate the launcher, which ends its ranks, and then kill the rest of its process group
        child.terminate()
        try:
            out, err = child.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
        failures.append(f"did not end within {options.seconds:g} s")
    out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    if "LeakSanitizer has encountered a fatal error" in err and "Tracer caught signal" in err:
        # LeakSanitizer itself crashed while it stopped the threads: that is no finding. The run is made again without it.
        if "detect_leaks=0" not in environment.get("ASAN_OPTIONS", ""):
            print("LeakSanitizer crashed; again without it")
            environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
            return run_once(command, environment, directory, options, checks)

    wanted_exit = "0"
    for _, match in checks:
        if match[1]:
            wanted_exit = match[2]
    if wanted_exit != "any" and (child.returncode == 0) != (wanted_exit == "0"):
        failures.append(f"ended with {child.returncode}, wanted {wanted_exit}")
    for place, match in checks:
        if match[3]:
            name = match[3]
            if name.startswith("file"):
                path = (directory or pathlib.Path()) / name.split(None, 1)[1]
                text = path.read_text(encoding="utf-8") if path.exists() else None
                if text is None:
                    failures.append(f"{place}: {path.name} was not written")
                    continue
            else:
                text = out if name == "stdout" else err
            pattern = match[5].replace("{ranks}", str(options.ranks))
            if bool(re.search(pattern, text, re.MULTILINE)) != (match[4] == "~"):
                failures.append(f"{place}: {name} {'lacks' if match[4] == '~' else 'has'} {pattern}")
        elif match[6]:
            path = (directory or pathlib.Path()) / match[7]
            if match[6] == "no file":
                if path.exists():
                    failures.append(f"{place}: {path.name} was written")
            elif match[6] == "page":
                try:
                    report = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                    failures += [f"{place}: {path.name}: {p}" for p in structure.problems(path.read_text(encoding="utf-8"), report)]
                except (OSError, ValueError) as problem:
                    failures.append(f"{place}: {path.name}: {problem}")
            else:
                try:
                    json.loads(path.read_text(encoding="utf-8"))
                except (OSError, ValueError) as problem:
                    failures.append(f"{place}: {path.name}: {problem}")

    if directory:
        failures += contradictions(directory, err)
    if environment.get("WHYWAIT_REPORT", "short") == "short":
        failures += too_long(err)
    return failures, child.returncode, out, err


def main():
    split = sys.argv.index("--")
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--checks", type=pathlib.Path)
    options.add_argument("--run", type=int, default=1)
    options.add_argument("--ranks", type=int, default=1)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--directory", type=pathlib.Path)
    options = options.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1:]

    checks = read_checks(options.checks, options.run) if options.checks else []
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    for name in list(environment):
        if name.startswith("WHYWAIT_"):
            del environment[name]
    if options.checks and options.checks.suffix != ".check" and any(match[3] == "stderr" for _, match in checks):
        environment["WHYWAIT_REPORT"] = "full"
    while command and re.match(r"^[A-Za-z_][A-Za-z0-9_]*=", command[0]):
        name, _, value = command.pop(0).partition("=")
        environment[name] = value
    directory = options.directory
    tries = max([int(match[9]) for _, match in checks if match[8]], default=1)
    for number in attempts(tries) if tries > 1 else [1]:
        failures, code, out, err = run_once(command, environment, directory, options, checks)
        if not failures or code < 0 or failures[0].startswith("did not end"):
            break
        for failure in failures + re.findall(r"^FAILED.*$", out, re.MULTILINE):
            print(f"try {number}: {failure}")

    print(f"$ {' '.join(command)}")
    print(f"--- stdout\n{out}--- stderr\n{err}--- exit {code}")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
