#!/usr/bin/env python3
"""Limits the compile-time cost of <whywait/mpi.hpp>, which every program pays, so that it does not grow unnoticed.

    growth.py object-at-O2 object-at-O0|...          only the first of the latter is used

Seconds depend on the machine, so that the test counts functions and bytes, which determine the time of g++ 12. Half
of the time goes into functions that remain in the object (<whywait/mpi.hpp> at -O2, about 12 ms each and 25 us per
byte). The rest goes into instantiated functions (all umbrellas at -O0), many of them parts of std::vector. Before
raising a limit, read the printed list. A type in a std::vector costs 80 to 150 ms (base::pod_vector a quarter),
std::stable_sort 165 (base::small_stable_sort 17), a std::unordered_map 100 (base::key_map nothing), and a cold
header without base/cold_begin.hpp is optimised like a hot one.
"""
import collections
import re
import sys

import tools

KB_AT_O2 = 1537
FUNCTIONS_AT_O0 = 15_320

ROOMS = "core record mpi base explain clocks rules whatif models data coverage reports finalize postmortem".split()


def functions(name):
    """{(address, section): (size, name)} of the functions that an object defines; aliases count once."""
    code, table, messages = tools.run(["objdump", "-t", "-C", name])
    if code != 0:
        tools.end([f"{name}: {messages}"], "")
    found = {}
    for line in table.splitlines():
        match = re.match(r"([0-9a-f]+) .{6}F (\.text\S*)\t([0-9a-f]+) +(.*)", line)
        if match:
            found[match[1], match[2]] = (int(match[3], 16), match[4])
    return found


def owner(symbol):
    """The room of a function, std:: or MPI, from its name without template arguments and parameters."""
    depth, bare = 0, ""
    for c in symbol:
        depth += (c in "<(") - (c in ">)")
        bare += c if depth == 0 else ""
    match = re.search(r"whywait::v0::(\w+)::", bare)
    if match and match[1] in ROOMS:
        return match[1]
    return "MPI_" if "MPI_" in bare else "std" if re.search(r"std::|__gnu_cxx", bare) else "other"


def main():
    at_o2, at_o0 = functions(sys.argv[1]), functions(sys.argv[2].split("|")[0])
    sizes, numbers = collections.Counter(), collections.Counter()
    for size, symbol in at_o2.values():
        sizes[owner(symbol)] += size
    for _, symbol in at_o0.values():
        numbers[owner(symbol)] += 1
    kb = sum(sizes.values()) / 1000
    failures = []
    for what, number, most in ((f"kB of functions at -O2: {dict(sizes.most_common())}", kb, KB_AT_O2),
                               (f"functions at -O0: {dict(numbers.most_common())}", len(at_o0), FUNCTIONS_AT_O0)):
        if not most / 2 < number <= most:
            failures.append(f"{number:.0f} {what}; at most {most}, and half of that to be sure that they were counted")
    tools.end(failures, f"{kb:.0f} kB of at most {KB_AT_O2} in {len(at_o2)} functions at -O2, {len(at_o0)} functions of at most "
              f"{FUNCTIONS_AT_O0} at -O0")


main()
