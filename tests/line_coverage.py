#!/usr/bin/env python3
"""Prints which lines of include/ the tests run: unit tests, programs with MPI, programs with threads.

    line_coverage.py FOLDER                      all of the following
    line_coverage.py FOLDER build [TARGET...]    compiles the tests in FOLDER/build with clang, which counts
    line_coverage.py FOLDER run [REGEX]          runs the tests that are built and whose names match, and adds up what they counted
    line_coverage.py FOLDER report               prints the share of each room; FOLDER/not_covered.txt has the lines without a count

Functions that no test uses count as not covered, templates that no test instantiates do not count, because the compiler sees no code.
Not counted either are functions that compilers' counters must leave alone (WHYWAIT_NO_COVERAGE), what a process did that a signal
killed, and headers that no test compiles; the report names the latter. Exit status 1 below 95 %.
--tree takes another build tree than FOLDER/build that was compiled with FLAGS.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FLAGS = "-O0 -g1 -w -fprofile-instr-generate -fcoverage-mapping"
ENOUGH = 95


def tool(name):
    """The newest of LLVM's tools; those of clang 14 read the counts of clang 16."""
    for version in ("-16", "", "-15", "-14"):
        if shutil.which(name + version):
            return name + version
    sys.exit(f"{name} was not found (Debian: llvm-16)")


def build(tree, targets):
    options = [f"-DCMAKE_CXX_FLAGS_RELEASE={FLAGS}", "-DCMAKE_CXX_COMPILER=clang++-16", "-DWHYWAIT_TEST_PARTS=unit;coverage;mpi;threads",
               "-DWHYWAIT_BUILD_EXAMPLES=OFF", "-DWHYWAIT_BUILD_BENCHMARKS=OFF", "-DWHYWAIT_OTF2=OFF"]
    subprocess.run(["cmake", "--preset", "openmpi", "-B", str(tree), *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(tree), "-j1", *(["--target", *targets] if targets else []), "--", "-k", "0"], check=True)


def built_tests(tree, pattern):
    """Names of the tests whose programs exist."""
    shown = subprocess.run(["ctest", "--test-dir", str(tree), "--show-only=json-v1"], capture_output=True, check=True).stdout
    return [t["name"] for t in json.loads(shown)["tests"]
            if re.search(pattern, t["name"]) and "command" in t and
            all(pathlib.Path(c).exists() for c in t["command"] if c.startswith(f"{tree}/") and not c.startswith(f"{tree}/runs/"))]


def run(folder, tree, pattern):
    counts = folder / "counts"
    counts.mkdir(exist_ok=True)
    names = built_tests(tree, pattern)
    if not names:
        sys.exit(f"no test that is built matches {pattern}")
    # Processes of one program add their counts to at most two files.
    environment = dict(os.environ, LLVM_PROFILE_FILE=f"{counts}/%2m.profraw")
    chosen = "^(" + "|".join(re.escape(n) for n in names) + ")$"
    done = subprocess.run(["ctest", "--test-dir", str(tree), "-R", chosen, "--progress"], env=environment, capture_output=True, text=True)
    print("\n".join(line for line in done.stdout.splitlines() if re.search(r"tests passed|Failed|Timeout", line)), flush=True)
    fresh = sorted(counts.glob("*.profraw"))
    known = folder / "counts.profdata"
    inputs = [str(p) for p in fresh] + ([str(known)] if known.exists() else [])
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "--failure-mode=all", *inputs, "-o", str(folder / "new.profdata")], check=True)
    (folder / "new.profdata").replace(known)
    for p in fresh:
        p.unlink()


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3 7"."""
    out = []
    for n in sorted(numbers):
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def read_lines(folder, tree):
    """Header -> line -> count."""
    objects = sorted(str(p) for p in tree.rglob("*.o") if b"__llvm_covmap" in p.read_bytes())
    arguments = [objects[0]] + [a for o in objects[1:] for a in ("-object", o)]
    command = [tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={folder / 'counts.profdata'}", *arguments]
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    found, file = collections.defaultdict(dict), None
    for line in shown.splitlines():
        if line.startswith("SF:"):
            inside = line.partition("/include/whywait/")[2]
            file = inside if inside and (ROOT / "include" / "whywait" / inside).is_file() else None
        elif file and line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            found[file][int(number)] = max(int(count), found[file].get(int(number), 0))
    return found


def report(folder, tree):
    found = read_lines(folder, tree)
    all_headers = {p.relative_to(ROOT / "include" / "whywait").as_posix() for p in (ROOT / "include" / "whywait").rglob("*.hpp")}
    rooms = collections.defaultdict(lambda: [0, 0])
    rest = []
    for file, lines in sorted(found.items()):
        missing = [n for n, count in lines.items() if count == 0]
        for room in (file.split("/")[0] if "/" in file else "umbrellas", "all"):
            rooms[room][0] += len(lines) - len(missing)
            rooms[room][1] += len(lines)
        if missing:
            rest.append(f"{file} ({len(missing)} of {len(lines)}): {ranges(missing)}")
    # headers of declarations only have no code
    unseen = sorted(h for h in all_headers - set(found) if re.search(r"^ *(return|if \(|for \()", (ROOT / "include" / "whywait" / h).read_text(), re.M))
    (folder / "not_covered.txt").write_text("\n".join(rest) + "\n\nno test compiles:\n" + "\n".join(unseen) + "\n")
    for room, (covered, lines) in sorted(rooms.items(), key=lambda r: (r[0] == "all", r[0])):
        print(f"{room:12s} {covered:6d} of {lines:6d} lines  {100 * covered / lines:5.1f} %")
    print(f"{len(unseen)} headers with code are in no test that is built: {', '.join(unseen) or 'none'}")
    print(f"lines without a count: {folder / 'not_covered.txt'}")
    covered, lines = rooms["all"]
    return 0 if 100 * covered >= ENOUGH * lines else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("step", nargs="?", choices=["build", "run", "report"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tree", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tree = (arguments.tree or folder / "build").resolve()
    if arguments.step in (None, "build"):
        build(tree, arguments.names)
    if arguments.step in (None, "run"):
        run(folder, tree, arguments.names[0] if arguments.names else "")
    return report(folder, tree) if arguments.step in (None, "report") else 0


if __name__ == "__main__":
    sys.exit(main())
