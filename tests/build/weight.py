#!/usr/bin/env python3
"""What <whywait/record.hpp> costs to include, and that it includes none of the expensive headers.

    weight.py compiler [options ...]

Prints milliseconds of processor time (the smallest of several, beyond an empty file) but never fails on time: on includes, and
on the number of tokens that the compiler reads. g++ 12 took 0.9 to 1.4 us for each token of this and other headers on a busy
machine; this one took 30 to 47 ms in all on quieter ones. So MOST of them are at most some 60 ms where little else runs.
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
    def used():  # of the compiler: waiting for a processor does not count
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
