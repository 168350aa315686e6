#!/usr/bin/env python3
"""Changes whywait on purpose, one small change at a time, and prints which changes the tests notice.

    mutants.py choose FOLDER           writes list.txt: every n-th eligible change of each room, by rule
    mutants.py build FOLDER            copies the sources to FOLDER with all listed changes behind one switch, builds its tests
    mutants.py run FOLDER [ID...]      runs the tests with one change after the other; stops at the first that fails
    mutants.py score                   prints the score of list.txt; exit status 1 below 95 %

All changes are compiled into one build tree. The environment variable MUTANT selects one of them at run time, so that
the tests that users run are built once. `run` first runs the test that noticed the change before (column `noticed by`), then
all tests that list.txt names for the room. It rewrites the column. A change that no test notices stays in the list with the
reason why it cannot matter (`equivalent: ...`), or counts against the score.

The rule: lines of a room in the order of its files are eligible if they hold a condition, a returned or assigned
expression, or a call as a statement. Of the operators that fit a line, the one that was used least in its room is taken.
Not eligible are lines that decide nothing at run time (declarations, macros, static_assert, constexpr if), lines about memory only
(system calls for it, running out of it, reserving and releasing it, prefetching), and the order of accesses between threads (atomic
operations, locks), which ThreadSanitizer and the exhaustive interleaving tests examine. A change that does not compile is replaced by
the next eligible line: `build` writes them to FOLDER/excluded.txt, which `choose FOLDER` reads.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "list.txt"

# Room -> (folders below include/whywait, number of changes, tests that must notice them in the order in which they run).
# Rooms of the hot storey are tested by real MPI programs; the tests of the rooms behind them come last.
COLD_TESTS = ["unit.explain", "unit.clocks", "unit.whatif", "unit.report", "unit.rules", "unit.data", "unit.finalize", "unit.postmortem"]
MPI_TESTS = ["mpi.calls", "mpi.random_messages", "mpi.communicators", "mpi.errors", "mpi.threads", "mpi.null_pointers", "mpi.large_counts",
             "mpi.known_causes", "mpi.late_initiations", "mpi.one_sided", "mpi.polls", "mpi.visits", "mpi.sessions", "mpi.paused", "mpi.skewed_clocks",
             "mpi"]
ROOMS = {
    "core": (["core"], 14, ["unit.core", "unit.record", "unit.mpi"] + COLD_TESTS + MPI_TESTS),
    "record": (["record"], 12, ["unit.record", "unit.coverage", "unit.data"] + MPI_TESTS),
    "mpi": (["mpi"], 18, ["unit.mpi"] + MPI_TESTS),
    "thread": (["thread"], 12, ["unit.thread", "thread"]),
    "base": (["base"], 10, ["unit.base"] + COLD_TESTS),
    "explain": (["explain"], 26, ["unit.explain", "unit.clocks", "unit.whatif", "unit.finalize", "unit.data"] + MPI_TESTS),
    "clocks": (["clocks"], 16, ["unit.clocks", "unit.whatif", "unit.explain", "mpi.efficiency", "mpi.overhead"]),
    "rules": (["rules"], 16, ["unit.rules", "unit.report", "mpi.rules", "mpi.problems"]),
    "whatif": (["whatif"], 12, ["unit.whatif", "mpi.whatif"]),
    "models": (["models"], 12, ["unit.models"]),
    "data": (["data/marks", "data/analysis", "data/report", "data/finalize"], 16, ["unit.data", "mpi.data", "example.ocean", "example.transpose"]),
    "coverage": (["coverage/counters", "coverage/names"], 8, ["unit.coverage", "unit.report", "coverage", "mpi.counted_lines"]),
    "report": (["report"], 14, ["unit.report", "unit.rules", "mpi", "example"]),
    "comparison": (["comparison"], 8, ["unit.comparison", "compare"]),
    "finalize": (["finalize"], 16, ["unit.finalize"] + MPI_TESTS + ["example"]),
    "postmortem": (["postmortem"], 8, ["unit.postmortem", "mpi.left_behind", "mpi.crash", "mpi.killed_rank"]),
}

# Operator -> pairs (what it finds outside of strings, what replaces it). The first match of a line is changed.
OPERATORS = {
    "comparison": [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > ")],
    "equality": [(r" == ", " != "), (r" != ", " == ")],
    "logic": [(r" && ", " || "), (r" \|\| ", " && ")],
    "negation": [(r"!(?=[a-z_])(?!=)", "")],
    "arithmetic": [(r" \+ (?!1\b)", " - "), (r" - (?!1\b)", " + ")],
    "off by one": [(r" \+ 1\b(?![.'])", ""), (r" - 1\b(?![.'])", ""), (r"(?<=[<>=] )(\d+)\b(?![.'u])", None)],
    "extremum": [(r"std::max\(", "std::min("), (r"std::min\(", "std::max(")],
    "ignored flag": [(r"\b[\w.>-]+(?:\.|->)has\([\w:|. ]+\)", "false")],
    "swapped arguments": [(r"(?<=\()(\w+), (\w+)(?=\))", None)],
    "dropped statement": [],
}


class Site:
    def __init__(self, room, file, number, line, operator, changed):
        self.room, self.file, self.number, self.line, self.operator, self.changed = room, file, number, line, operator, changed


def blank_strings(text):
    """The same length, with the contents of literals replaced, so that operators in them are not found."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'', lambda m: m[0][0] + "_" * (len(m[0]) - 2) + m[0][-1], text)


def closing(text, begin):
    """Position behind the bracket that closes the one at `begin`; -1 if it is on another line."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at + 1
    return -1


MEMORY_OR_THREADS = re.compile(r"\b(mmap|munmap|madvise|mprotect|map_pages|unmap|reserve|release|shrink|give_back|prefetch|__builtin_prefetch|"
                               r"__builtin_ia32_\w+|__atomic_\w+|pthread_\w+|sched_yield|fflush|errno|__asm__|lock|unlock)\b|== nullptr\) (return|continue|break)|"
                               r"!\w+\.(reserve|grow|allocate)\(")
STATEMENT = re.compile(r"^(\s*)(?:(else )?if \(|(return) |((?:const )?(?:auto|bool|(?:std::)?u?int\d+_t|(?:std::)?size_t|double) \w+ = )|"
                       r"([\w.\[\]>*()-]+ [|+\-&]?= )|([\w.]+(?:->[\w.]+)*\())")


def expression_of(line):
    """(begin, end, kind) of the expression of a line whose value is used at run time, or None."""
    bare = blank_strings(line)
    match = STATEMENT.match(bare)
    if not match or MEMORY_OR_THREADS.search(bare) or "constexpr" in bare or "static_assert" in bare or bare.rstrip().endswith("\\") or "//" in bare and bare.strip().startswith("//"):
        return None
    begin = match.end()
    if bare[:begin].rstrip().endswith("if ("):
        end = closing(bare, begin - 1) - 1
        inside = bare[begin:end]
        if end < begin or ";" in inside or re.match(r"(const |auto\b|[\w:]+\*? \w+ = )", inside):
            return None
        return begin, end, "condition"
    stop = bare.rstrip()
    if not stop.endswith(";") and not re.search(r";\s+// ?/?<?.*$", bare):
        return None
    end = bare.find(";")
    if end < begin or bare.count(";") != 1 or bare.count("(") != bare.count(")") or "{" in bare or "[&" in bare or "[=" in bare or "[]" in bare:
        return None
    if match[3] or match[4]:
        return begin, end, "value"
    if match[5]:
        return begin, end, "assigned"
    if match[6] and closing(bare, begin - 1) == end and not re.match(r"\s*(switch|while|for|sizeof|defined|template|static_cast)\b", bare):
        return match.start(6), end, "call"
    return None


def change(line, operator):
    """The line's expression changed by the operator, or None; for dropped statements an empty text."""
    found = expression_of(line)
    if not found:
        return None
    begin, end, kind = found
    text, bare = line[begin:end], blank_strings(line)[begin:end]
    if operator == "dropped statement":
        if kind == "call":
            return ""
        if kind == "assigned" and re.search(r" [|+\-&]= $", line[:begin]):
            return ""
        return None
    if kind == "call":
        if operator != "swapped arguments":
            return None
    for pattern, replacement in OPERATORS[operator]:
        match = re.search(pattern, bare)
        if not match:
            continue
        if operator == "swapped arguments":
            if match[1] == match[2]:
                continue
            new = f"{match[2]}, {match[1]}"
        elif replacement is None:
            new = str(int(match[1]) + 1)
        else:
            new = replacement
        return text[:match.start()] + new + text[match.end():]
    return None


def eligible_lines(path):
    """(number, line) of code lines: neither comments nor raw strings nor the preprocessor."""
    raw = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if raw is not None:
            if raw in line:
                raw = None
            continue
        opens = re.search(r'R"(\w*)\(', line)
        if opens:
            if f'){opens[1]}"' not in line:
                raw = f'){opens[1]}"'
            continue
        if line.lstrip().startswith(("//", "#", "*")) or "//" in line and not line.split("//")[0].strip():
            continue
        yield number, line


def sites(room, excluded):
    """All changes of a room by its rule, in the order of files and lines."""
    used = dict.fromkeys(OPERATORS, 0)
    found = []
    for folder in ROOMS[room][0]:
        base = ROOT / "include" / "whywait" / folder
        if not base.is_dir():
            continue
        for path in sorted(base.rglob("*.hpp")):
            for number, line in eligible_lines(path):
                if not expression_of(line):
                    continue
                fitting = [(used[o], i, o) for i, o in enumerate(OPERATORS) if change(line, o) is not None]
                fitting = [f for f in fitting if (path.relative_to(ROOT).as_posix(), line.strip(), f[2]) not in excluded]
                if fitting:
                    operator = min(fitting)[2]
                    used[operator] += 1
                    found.append(Site(room, path.relative_to(ROOT).as_posix(), number, line, operator, change(line, operator)))
    return found


# --- the list: one line for each change, `room | file:line | operator | noticed by | line`
def read_list():
    entries = []
    if not LIST.exists():
        return entries
    for text in LIST.read_text(encoding="utf-8").splitlines():
        if not text or text.startswith("#"):
            continue
        room, place, operator, noticed, line = (part.strip() for part in text.split(" | ", 4))
        file, number = place.rsplit(":", 1)
        entries.append({"room": room, "file": file, "number": int(number), "operator": operator, "noticed": noticed, "line": line})
    return entries


def write_list(entries):
    head = HERE / "list_head.txt"
    lines = head.read_text(encoding="utf-8").splitlines() if head.exists() else []
    for e in entries:
        lines.append(f"{e['room']} | {e['file']}:{e['number']} | {e['operator']} | {e['noticed']} | {e['line']}")
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def locate(entry):
    """The changed expression of an entry at today's line number: lines move, so the nearest equal line counts."""
    lines = (ROOT / entry["file"]).read_text(encoding="utf-8").splitlines()
    same = [n for n, line in enumerate(lines, 1) if line.strip() == entry["line"]]
    if not same:
        return None
    number = min(same, key=lambda n: abs(n - entry["number"]))
    line = lines[number - 1]
    changed = change(line, entry["operator"])
    return None if changed is None else (number, line, changed)


def choose(offset, folder):
    entries = []
    path = folder / "excluded.txt"
    excluded = {tuple(line.split(" | ", 2)) for line in path.read_text(encoding="utf-8").splitlines()} if path.exists() else set()
    excluded = {(file, line, operator) for file, operator, line in excluded}
    for room, (_, count, _) in ROOMS.items():
        all_sites = sites(room, excluded)
        if not all_sites:
            continue
        step = max(1, len(all_sites) // count)
        for s in all_sites[offset % step::step][:count]:
            entries.append({"room": room, "file": s.file, "number": s.number, "operator": s.operator, "noticed": "-", "line": s.line.strip()})
        print(f"{room}: {min(count, len(all_sites))} of {len(all_sites)} eligible lines")
    write_list(entries)
    print(f"{len(entries)} changes in {LIST}")


SWITCH = """#pragma once
#ifdef __cplusplus
#include <stdlib.h>
namespace mutants {
inline int selected() noexcept { const char* text = getenv("MUTANT"); return text != nullptr ? atoi(text) : 0; }
inline const int number = selected();
inline bool on(int n) noexcept { return number == n; }
constexpr bool is(int n) noexcept { return !__builtin_is_constant_evaluated() && on(n); }
}
#endif
"""


def build(folder, jobs):
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    changed = {}
    entries = read_list()
    missing = 0
    for number, entry in enumerate(entries, 1):
        place = locate(entry)
        if place is None:
            print(f"{number}: {entry['file']}:{entry['number']}: this line is not there any more", file=sys.stderr)
            missing += 1
            continue
        changed.setdefault(entry["file"], []).append((number, *place))
    for name in filter(None, files):
        source, target = ROOT / name, tree / name
        if not source.is_file():
            continue
        content = source.read_bytes()
        if name in changed:
            lines = content.decode().split("\n")
            for number, at, line, text in changed[name]:
                begin, end, kind = expression_of(line)
                if text == "" and kind == "call":
                    lines[at - 1] = f"{line[:begin]}(mutants::is({number}) ? (void)0 : (void)({line[begin:end]})){line[end:]}"
                elif text == "":
                    whole = line[:end].strip()
                    indent = line[:len(line) - len(line.lstrip())]
                    lines[at - 1] = f"{indent}(mutants::is({number}) ? (void)0 : (void)({whole})){line[end:]}"
                else:
                    lines[at - 1] = f"{line[:begin]}(mutants::is({number}) ? ({text}) : ({line[begin:end]})){line[end:]}"
            content = "\n".join(lines).encode()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source, target)
    (tree / "mutants_switch.h").write_text(SWITCH, encoding="utf-8")
    flags = f"-O1 -g1 -Wno-error -w -include {tree}/mutants_switch.h"
    subprocess.run(["cmake", "--preset", "openmpi", f"-DCMAKE_CXX_FLAGS_RELEASE={flags}", "-DWHYWAIT_PRELOAD=OFF", "-B", str(tree / "build")],
                   cwd=tree, check=True, stdout=subprocess.DEVNULL)
    log = folder / "build.log"
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(["cmake", "--build", str(tree / "build"), "-j", str(jobs), "--", "-k", "0"], stdout=out, stderr=subprocess.STDOUT).returncode
    if code != 0:
        print(f"errors in {log}; lines of changes that do not compile:", file=sys.stderr)
        numbers = set()
        for match in re.finditer(r"tree/(include/whywait/[\w/.]+):(\d+):\d+: error", log.read_text(encoding="utf-8", errors="replace")):
            for number, at, *_ in changed.get(match[1], []):
                if at == int(match[2]):
                    numbers.add(number)
        with open(folder / "excluded.txt", "a", encoding="utf-8") as out:
            for number in sorted(numbers):
                e = entries[number - 1]
                out.write(f"{e['file']} | {e['operator']} | {e['line']}\n")
        for number in sorted(numbers):
            print(f"  {number}: {entries[number - 1]['file']}:{entries[number - 1]['number']} {entries[number - 1]['operator']}", file=sys.stderr)
        return 1
    print(f"built {len(entries) - missing} changes")
    return 1 if missing else 0


def ctest(build_tree, pattern, number, seconds):
    """The first failing test, "" if all pass, None if no test matches."""
    env = dict(os.environ, MUTANT=str(number))
    command = ["ctest", "--test-dir", str(build_tree), "-R", pattern, "--stop-on-failure", "--timeout", str(seconds), "-j", "2", "--no-tests=error"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace")
    failed = re.findall(r"^\s*\d+ - (\S+) \((?!Skipped)[^)]*\)$", done.stdout, re.M)
    if failed:
        return failed[0]
    return None if "No tests were found" in done.stdout + done.stderr else ""


def run(folder, numbers):
    tree = folder / "tree" / "build"
    entries = read_list()
    began = time.time()
    for number, entry in enumerate(entries, 1):
        if numbers and number not in numbers or not numbers and entry["noticed"].startswith("equivalent"):
            continue
        noticed = ""
        known = entry["noticed"]
        if known not in ("-", "") and not known.startswith("equivalent"):
            noticed = ctest(tree, f"^{re.escape(known)}$", number, 120) or ""
        for tests in [] if noticed else ROOMS[entry["room"]][2]:
            noticed = ctest(tree, rf"^openmpi\.{re.escape(tests)}(\.|$)", number, 60) or ""
            if noticed:
                break
        if not (entry["noticed"].startswith("equivalent") and not noticed):
            entry["noticed"] = noticed or "-"
        print(f"{number:4d} {time.time() - began:6.0f} s  {entry['noticed']:45s} {entry['file']}:{entry['number']} {entry['operator']}", flush=True)
        write_list(entries)
    return score()


def score():
    entries = read_list()
    counted = [e for e in entries if not e["noticed"].startswith("equivalent")]
    noticed = [e for e in counted if e["noticed"] != "-"]
    for room in ROOMS:
        mine = [e for e in counted if e["room"] == room]
        if mine:
            print(f"{room:12s} {sum(e['noticed'] != '-' for e in mine):3d} of {len(mine)}")
    percent = 100 * len(noticed) / max(1, len(counted))
    print(f"noticed {len(noticed)} of {len(counted)} changes: {percent:.1f} % ({len(entries) - len(counted)} more cannot matter)")
    return 0 if percent >= 95 and len(entries) >= 150 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["choose", "build", "run", "score"])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--offset", type=int, default=3, help="choose: the first of every n-th line")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "score":
        return score()
    if arguments.folder is None:
        parser.error("a folder for the build tree is needed")
    folder = arguments.folder.resolve()
    if arguments.command == "choose":
        return choose(arguments.offset, folder)
    return build(folder, arguments.jobs) if arguments.command == "build" else run(folder, set(arguments.numbers))


if __name__ == "__main__":
    sys.exit(main())
