#!/usr/bin/env python3
"""Limits the cost of including <whywait/record.hpp> and checks that it includes no expensive headers.

    weight.py compiler [options ...]

Prints the processor time in milliseconds (minimum of several runs, minus an empty file) but fails only on includes
and on the number of tokens. g++ 12 took 0.9 to 1.4 us per token of this and other headers on a busy machine and 30 to
47 ms in total on quieter ones, so that MOST tokens correspond to at most about 60 ms on a quiet machine.
"""
import re
import resource

import tools

import rooms

FORBIDDEN = {"string", "vector", "atomic", "chrono", "mutex", "thread", "functional", "memory", "algorithm", "iostream",
             "condition_variable"}


MOST = 60_000
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
    tools.end(failures, f"<whywait/record.hpp>: {full - empty:.0f} ms beyond an empty file ({empty:.0f} ms), {tokens} tokens of "
              f"at most {MOST}, {seen} files")


main()
