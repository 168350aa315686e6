#!/usr/bin/env python3
"""Changes whywait on purpose, one small change at a time, and prints which changes the tests notice.

    mutants.py choose                  writes list.txt: every n-th eligible change of each room, by rule
    mutants.py build FOLDER            copies the sources to FOLDER with all listed changes behind one switch, builds its tests
    mutants.py run FOLDER [ID...]      runs the tests with one change after the other; stops at the first that fails
    mutants.py score                   prints the score of list.txt; exit status 1 below 95 %

All changes are compiled into one build tree. The environment variable MUTANT selects one of them at run time, so that
the tests that users run are built once. `run` runs the tests that ROOMS names for the room of the change until one fails, and rewrites
the column `noticed by`. Without IDs it runs the changes that no test has noticed yet, with --again all of them, first with the test that
noticed the change before. A test counts if it passes without the change; a program with several processes must fail twice. Tests
whose programs are not built (`build --targets ...`) are left out. Code that only MPICH or clang compile needs a FOLDER of its own (`build --preset mpich`, --cmake). A change that no test notices stays in the list with the reason why
it cannot matter (`equivalent: ...`), or counts against the score.

The rule: lines of a room in the order of its files are eligible if they hold a condition, a returned or assigned
expression, or a call as a statement. Of the operators that fit a line, the one that was used least in its room is taken.
Not eligible are lines that decide nothing at run time (declarations, macros, static_assert, constexpr if), lines about memory only
(system calls for it, running out of it, reserving and releasing it, prefetching), and the order of accesses between threads (atomic
operations, locks), which ThreadSanitizer and the exhaustive interleaving tests examine. `build` replaces a change that does not compile
by the next eligible line.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "list.txt"

# Room -> (folders below include/whywait, number of changes, tests that must notice them, in the order in which they run; a name
# stands for all tests that begin with it). Unit tests run first. Of the MPI programs only those of 2 ranks (1, where they need no
# more) that end soon are run, so that one command answers within the hour; a change that only others notice counts as not noticed.
COLD_TESTS = ["unit.explain", "unit.clocks", "unit.whatif", "unit.report", "unit.rules", "unit.data", "unit.finalize", "unit.postmortem"]
MPI_TESTS = ["mpi." + name for name in (
    "calls.2 communicators.2 random_messages.2 transport.2 errors.2 null_pointers.1 clocks.2 threads.2 large_counts.2 left_calls.2 "
    "known_causes.2 late_initiations.2 one_sided.2 polls.2 visits.2 files.2 side_by_side.2 unexplained.2 explained_often.2 no_order.2 "
    "skewed_clocks.2 paused.2 rules_broken.2 profile.2 timeline.2 traced_order.2 wrapped_calls.2 idle_threads.2 locked_threads.2 "
    "lost_notes.2 little_memory.2 efficiency.2 partly_disabled.2 no_finalize.2 aborted.2 crash.2 killed_rank.2 left_behind.2 "
    "bad_settings.2 short_callers.2 not_through_c.2 data_report.2 data_calls.2 data_explained.2 not_understood.2 rules_of_one_rank.2 "
    "counted_lines.2 ended_threads.2 no_communicators.2 combined_messages.2 whatif.3 transport_fails.2 out_of_memory.runs.2 sessions.2 "
    "several_programs ending unmodified mismatched_regions.2 data_not_analysed.2").split()] + ["timeline"]
ROOMS = {
    "core": (["core"], 14, ["unit.core", "unit.record", "unit.mpi", "build.dso"] + COLD_TESTS + MPI_TESTS),
    "record": (["record"], 12, ["unit.record", "unit.thread", "unit.coverage", "unit.data", "unit.postmortem", "threads"] + MPI_TESTS),
    "mpi": (["mpi"], 18, ["unit.mpi"] + MPI_TESTS),
    "thread": (["thread"], 12, ["unit.thread", "threads"]),
    "base": (["base"], 10, ["unit.base"] + COLD_TESTS),
    "explain": (["explain"], 26, ["unit.explain", "unit.clocks", "unit.whatif", "unit.finalize", "unit.data", "unit.report"] + MPI_TESTS),
    "clocks": (["clocks"], 16, ["unit.clocks", "unit.whatif", "unit.explain", "mpi.efficiency.2"]),
    "rules": (["rules"], 16, ["unit.rules", "unit.report", "mpi.rules_broken.2", "mpi.rules_of_one_rank.2", "mpi.problems"]),
    "whatif": (["whatif"], 12, ["unit.whatif", "mpi.whatif.3"]),
    "models": (["models"], 12, ["unit.models"]),
    "data": (["data/marks", "data/analysis", "data/report", "data/finalize"], 16,
             ["unit.data", "unit.report", "mpi.data_report.2", "mpi.data_calls.2", "mpi.data_explained.2", "mpi.data_transport.2", "mpi.data_windows.2"]),
    "coverage": (["coverage/counters", "coverage/names"], 8, ["unit.coverage", "unit.report", "coverage", "mpi.counted_lines.2"]),
    "report": (["report"], 14, ["unit.report", "unit.rules", "unit.finalize", "mpi.profile.2", "mpi.rules_broken.2"]),
    "comparison": (["comparison"], 8, ["unit.comparison", "compare"]),
    "finalize": (["finalize"], 16, ["unit.finalize"] + MPI_TESTS),
    "postmortem": (["postmortem"], 8, ["unit.postmortem", "unit.finalize", "mpi.left_behind.2", "mpi.crash.2", "mpi.killed_rank.2", "mpi.aborted.2", "mpi.aborted_full.1"]),
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


def sites(room):
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


def entry_of(site):
    return {"room": site.room, "file": site.file, "number": site.number, "operator": site.operator, "noticed": "-", "line": site.line.strip()}


def choose(offset):
    entries = []
    for room, (_, count, _) in ROOMS.items():
        all_sites = sites(room)
        if not all_sites:
            continue
        step = max(1, len(all_sites) // count)
        for s in all_sites[offset % step::step][:count]:
            entries.append(entry_of(s))
        print(f"{room}: {min(count, len(all_sites))} of {len(all_sites)} eligible lines")
    write_list(entries)
    print(f"{len(entries)} changes in {LIST}")


SWITCH = """#pragma once
#ifdef __cplusplus
#include <stdlib.h>
namespace mutants {
inline int selected() noexcept { const char* text = getenv("MUTANT"); return text != nullptr ? atoi(text) : 0; }
inline int number = -1;  // constructors of modules may run before this is initialised dynamically
inline bool on(int n) noexcept {
  if (number < 0) number = selected();
  return number == n;
}
constexpr bool is(int n) noexcept { return !__builtin_is_constant_evaluated() && on(n); }
}
#endif
"""


def replace(entries, numbers):
    """Puts the next eligible line of the room in place of changes that do not compile."""
    for number in numbers:
        old = entries[number - 1]
        all_sites = sites(old["room"])
        at = next(i for i, s in enumerate(all_sites) if (s.file, s.number) == (old["file"], locate(old)[0]))
        listed = {(e["file"], e["line"]) for e in entries}
        site = next(s for s in all_sites[at + 1:] + all_sites[:at] if (s.file, s.line.strip()) not in listed)
        entries[number - 1] = entry_of(site)
        print(f"{number}: {old['file']}:{old['number']} {old['operator']} does not compile; instead {site.file}:{site.number} {site.operator}")
    write_list(entries)


def write_tree(tree):
    """Copies the sources with the changes of the list. Returns file -> [(number of change, number of line)]."""
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    changed = {}
    for number, entry in enumerate(read_list(), 1):
        place = locate(entry)
        if place is None:
            sys.exit(f"{number}: {entry['file']}:{entry['number']}: this line is not there any more; choose a new list")
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
    switch = tree / "mutants_switch.h"
    if not switch.exists() or switch.read_text(encoding="utf-8") != SWITCH:
        switch.write_text(SWITCH, encoding="utf-8")
    return {name: [(c[0], c[1]) for c in list] for name, list in changed.items()}


def not_compiling(log, changed):
    """Numbers of the changes in lines that a compiler's output names as wrong."""
    numbers = set()
    for match in re.finditer(r"(include/whywait/[\w/.]+):(\d+):\d+: error", log):
        numbers |= {number for number, at in changed.get(match[1], []) if at == int(match[2])}
    return sorted(numbers)


def check(tree):
    """Compiles all changed headers in one file, and replaces the changes that the compiler refuses, until it refuses none."""
    while True:
        changed = write_tree(tree)
        text = "".join(f"#include <{name.removeprefix('include/')}>\n" for name in sorted(changed))
        command = ["mpicxx.openmpi", "-std=c++17", "-w", "-fsyntax-only", "-fmax-errors=0", "-include", str(tree / "mutants_switch.h"),
                   "-I", str(tree / "include"), "-x", "c++", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        if done.returncode == 0:
            return
        refused = not_compiling(done.stderr, changed)
        if not refused:
            sys.exit(done.stderr)
        replace(read_list(), refused)


def build(folder, jobs, targets, preset, options, flags):
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    check(tree)
    flags = f"{flags} -Wno-error -w -include {tree}/mutants_switch.h"
    subprocess.run(["cmake", "--preset", preset, f"-DCMAKE_CXX_FLAGS_RELEASE={flags}", "-B", str(tree / "build"), *options],
                   cwd=tree, check=True, stdout=subprocess.DEVNULL)
    command = ["cmake", "--build", str(tree / "build"), "-j", str(jobs), "--target", *targets, "--", "-k", "0"]
    log = folder / "build.log"
    while True:
        changed = write_tree(tree)
        with open(log, "w", encoding="utf-8") as out:
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode == 0:
                break
        refused = not_compiling(log.read_text(encoding="utf-8", errors="replace"), changed)
        if not refused:
            print(f"errors in {log}", file=sys.stderr)
            return 1
        replace(read_list(), refused)
    print(f"built {len(read_list())} changes")
    return 0


class Test:
    """A test as CTest registers it, run without CTest, which would start each test at least 0.1 s late."""
    def __init__(self, description):
        properties = {p["name"]: p["value"] for p in description["properties"]}
        self.name, self.command, self.seconds = description["name"], description["command"], None
        self.folder = properties.get("WORKING_DIRECTORY")
        self.environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        self.unset = [m.split("=")[0] for m in properties.get("ENVIRONMENT_MODIFICATION", []) if m.endswith("=unset:")]
        self.fails = [re.compile(e) for e in properties.get("FAIL_REGULAR_EXPRESSION", [])]
        self.skipped = properties.get("SKIP_RETURN_CODE", -1)
        self.alone = ".unit." not in self.name  # programs with several processes or sleeps disturb each other

    def passes(self, number, limit):
        """`limit`: seconds of processor time of a process; other programs may slow the test down."""
        environment = {k: v for k, v in os.environ.items() if k not in self.unset}
        environment.update(self.environment, MUTANT=str(number))
        process = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1)))
        try:
            output = process.communicate(timeout=60 + 10 * limit)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False
        if process.returncode == self.skipped:
            return True
        return process.returncode == 0 and not any(f.search(output) for f in self.fails)


def registered_tests(tree):
    """Tests whose programs are built, by their name without the prefix."""
    shown = subprocess.run(["ctest", "--test-dir", str(tree), "--show-only=json-v1"], capture_output=True, check=True).stdout
    tests = {}
    for description in json.loads(shown)["tests"]:
        if "command" in description and all(
                pathlib.Path(c).exists() for c in description["command"] if c.startswith((f"{tree}/tests/", f"{tree}/examples/"))):
            test = Test(description)
            tests[test.name.split(".", 1)[1]] = test  # without the name of the preset
    return tests


def tests_of(names, tests, times):
    """The tests of these names: in the order of the list, the fastest of each entry first."""
    found = []
    for name in names:
        fitting = [t for n, t in tests.items() if n == name or n.startswith(name + ".")]
        found += [t for t in sorted(fitting, key=lambda t: times.get(t.name) or 0) if t not in found]
    return found


def run(folder, numbers, rooms, jobs, again, names):
    """Runs the tests of each change until one fails. The changes of `jobs` lines run at the same time if only unit tests are needed."""
    tree = folder / "tree" / "build"
    entries = read_list()
    tests = registered_tests(tree)
    # Time of every test without a change. Tests that fail without one examine nothing here and are left out.
    path = folder / "times.json"
    times = json.loads(path.read_text()) if path.exists() else {}
    wanted = [(n, e) for n, e in enumerate(entries, 1)
              if (n in numbers if numbers else not e["noticed"].startswith("equivalent")) and (not rooms or e["room"] in rooms)
              and (again or numbers or e["noticed"] == "-")]
    for room in dict.fromkeys(e["room"] for _, e in wanted):
        for test in tests_of(names or ROOMS[room][2], tests, {}):
            if test.name not in times:
                began = time.time()
                times[test.name] = time.time() - began if test.passes(0, 100) else None
                if times[test.name] is None:
                    print(f"{test.name} fails without a change; it is not used", flush=True)
                path.write_text(json.dumps(times, indent=1))
    wanted.sort(key=lambda w: rooms.index(w[1]["room"]) if rooms else 0)
    began, lock, mpi = time.time(), threading.Lock(), threading.Lock()
    hits = {}

    def examine(number, entry):
        of_room = [t for t in tests_of(names or ROOMS[entry["room"]][2], tests, times) if times.get(t.name) is not None]
        unit = sorted((t for t in of_room if not t.alone), key=lambda t: (t.name != entry["noticed"], times[t.name] / (1 + hits.get(t.name, 0))))
        alone = sorted((t for t in of_room if t.alone), key=lambda t: t.name != entry["noticed"])
        if alone and alone[0].name == entry["noticed"]:
            unit, alone = [], alone[:1] + unit + alone[1:]
        noticed = next((t for t in unit if not t.passes(number, 5 + 8 * times[t.name]) and t.passes(0, 5 + 8 * times[t.name])), None)
        if not noticed and alone:
            with mpi:
                for t in alone:
                    limit = 10 + 5 * times[t.name]
                    # disturbances of the machine must not count as noticed
                    if not t.passes(number, limit) and not t.passes(number, limit) and (not t.alone or t.passes(0, limit)):
                        noticed = t
                        break
        with lock:
            if noticed:
                hits[noticed.name] = hits.get(noticed.name, 0) + 1
            if noticed or not entry["noticed"].startswith("equivalent"):
                entry["noticed"] = noticed.name if noticed else "-"
            print(f"{number:4d} {time.time() - began:6.0f} s  {entry['noticed']:45s} {entry['file']}:{entry['number']} {entry['operator']}", flush=True)
            write_list(entries)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(examine, *w) for w in wanted]:
            done.result()
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
    parser.add_argument("--targets", nargs="+", default=["all"], help="build: these targets only")
    parser.add_argument("--preset", default="openmpi", help="build: preset of the build tree")
    parser.add_argument("--cmake", action="append", default=[], help="build: another option of CMake, as in --cmake=-DX=Y")
    # tests/CMakeLists.txt finds -O2 and lowers it for unit tests, as in the preset; -O1 compiles the MPI programs faster
    parser.add_argument("--flags", default="-O2 -O1 -g1", help="build: options of the compiler")
    parser.add_argument("--tests", nargs="+", default=[], help="run: these tests instead of those of the room")
    parser.add_argument("--rooms", nargs="+", default=[], help="run: changes of these rooms only")
    parser.add_argument("--again", action="store_true", help="run: also the changes that were noticed before")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.command == "score":
        return score()
    if arguments.command == "choose":
        return choose(arguments.offset)
    if arguments.folder is None:
        parser.error("a folder for the build tree is needed")
    folder = arguments.folder.resolve()
    if arguments.command == "build":
        return build(folder, arguments.jobs, arguments.targets, arguments.preset, arguments.cmake, arguments.flags)
    return run(folder, set(arguments.numbers), arguments.rooms, arguments.jobs, arguments.again, arguments.tests)


if __name__ == "__main__":
    sys.exit(main())
