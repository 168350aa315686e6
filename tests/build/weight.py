#!/usr/bin/env python3
"""What <whywait/record.hpp> costs to include, that it includes none of the expensive headers, and what the first mark adds.

    weight.py compiler [options ...]

Prints milliseconds of processor time (the smallest of several, beyond an empty file) but never fails on time: on includes, on
the number of tokens that the compiler reads, and on the size of an object file with one mark at -O2. benchmarks/weight.py
prints times.
"""
import pathlib
import re
import resource
import tempfile

import tools

import rooms

FORBIDDEN = {"string", "vector", "atomic", "chrono", "mutex", "thread", "functional", "memory", "algorithm", "iostream",
             "condition_variable"}


MOST = 15_000
MARK = "#include <whywait/record.hpp>\nvoid f();\nvoid f() { WHYWAIT_REGION(\"f\"); }\n"
MOST_BYTES = {"object file": 8 << 10, "code and data": 2 << 10, ".bss": 1 << 10}
TOKEN = re.compile(r"""R?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\w+|[^\s\w]""")


def milliseconds(command, source):
    def used():  # processor time of the compiler, which excludes waiting
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    best = float("inf")
    for _ in range(15):
        begin = used()
        code, _, messages = tools.run(command, source)
        best = min(best, used() - begin)
        if code != 0:
            tools.end([messages], "")
    return best * 1000


def first_mark(compiler, options):
    """What an object file with one mark weighs."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mark.o"
        code, _, messages = tools.run([compiler, *options, "-O2", f"-I{rooms.TREE}", "-c", "-x", "c++", "-", "-o", str(path)], MARK)
        if code != 0:
            tools.end([messages], "")
        text, data, bss = (int(word) for word in tools.run(["size", str(path)])[1].splitlines()[1].split()[:3])
        return {"object file": path.stat().st_size, "code and data": text + data, ".bss": bss}


def main():
    compiler, options = tools.arguments()
    command = [compiler, *options, f"-I{rooms.TREE}", "-fsyntax-only", "-x", "c++", "-"]
    empty = milliseconds(command, "")
    source = "#include <whywait/record.hpp>\n"
    full = milliseconds(command, source)
    _, _, listing = tools.run([*command, "-H"], source)
    _, text, _ = tools.run([*(option for option in command if option != "-fsyntax-only"), "-E", "-P"], source)
    tokens = len(TOKEN.findall(text))
    failures, seen = [], 0
    if not MOST / 6 < tokens <= MOST:
        failures.append(f"<whywait/record.hpp> has {tokens} tokens: more than {MOST}, or so few that nothing was counted")
    for line in listing.splitlines():
        match = re.match(r"^\.+ (\S+)$", line)
        if not match:
            continue
        seen += 1
        path = match[1]
        if "/boost/" in path or (re.search(r"/c\+\+/[^/]+/([a-z_]+)$", path) and path.rsplit("/", 1)[1] in FORBIDDEN):
            failures.append(f"<whywait/record.hpp> includes {path}")
    if seen == 0:
        failures.append("the compiler listed no includes (-H): this check checks nothing")
    bytes_of = first_mark(compiler, options)
    if bytes_of["code and data"] < 100:
        failures.append("the first mark adds nothing: this check checks nothing")
    failures += [f"the first mark: {bytes_of[what]} bytes of {what}, at most {most}" for what, most in MOST_BYTES.items() if bytes_of[what] > most]
    tools.end(failures, f"first mark: {bytes_of}; <whywait/record.hpp>: {full - empty:.0f} ms beyond an empty file ({empty:.0f} ms), {tokens} tokens of "
              f"at most {MOST}, {seen} files")


main()
