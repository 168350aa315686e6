#!/usr/bin/env python3
"""Runs a program that knows nothing of whywait with its pthread functions interposed, and compares the report with what the program
measured itself (unmodified/slept.cpp).

    unmodified.py DIRECTORY LIBRARY PROGRAM SCRIPT PLUGIN TEAM NAMED...    LIBRARY for LD_PRELOAD; "": the program contains the interposer,
                                                                     and TEAM and NAMED are not run
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

folder, library, program, script, plugin, team, *named = pathlib.Path(sys.argv[1]), *sys.argv[2:]
folder.mkdir(parents=True, exist_ok=True)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import consistent
from attempts import attempts

environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_") and k != "LD_PRELOAD"}


def run(name, *arguments, settings=(), program=program):
    """Standard output, standard error and JSON report of a run."""
    prefix = folder / name
    for old in folder.glob(name + ".*"):
        old.unlink()
    command = [program, *arguments]
    if library:
        command = [script, "run", "--preload", library, "--output", str(prefix), "--", *command]
    own = {**environment, "WHYWAIT_OUTPUT": str(prefix), **dict(settings)}
    done = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)
    report = prefix.with_suffix(".json")
    return done.stdout, done.stderr, json.loads(report.read_text()) if report.exists() else None


def short(function):
    return re.sub(r"\(.*", "", function.replace("(anonymous namespace)::", ""))


def compare(expected, report):
    function, pattern, took, until, count, guilty = expected
    took, until, count = float(took), float(until), int(count)
    waits = [w for w in report["waits"] if short(w["operation"].get("function", "")) == function]
    seconds = sum(w["seconds"] for w in waits if w["pattern"] == pattern)
    allowed = 0.03 * took + 0.001 * count
    problems = []
    if not until - allowed <= seconds <= took + allowed:
        problems.append(f"{function}: waited {until:.4f} to {took:.4f} s, reported {seconds:.4f} s")
    causes = [r for w in waits if w["pattern"] == pattern for r in w["residual"]]
    blamed = sum(r["seconds"] for r in causes if guilty in r["block"] or guilty in str(r.get("function")))
    if blamed < 0.95 * seconds:
        problems.append(f"{function}: {guilty} has {blamed:.4f} of {seconds:.4f} s; " +
                        "; ".join(f"{r['block']} {r['seconds']:.4f}" for r in causes))
    return problems


def known_waits():
    output, error, report = run("slept", plugin)
    problems = list(consistent.contradictions(report))
    expected = [line.split()[1:] for line in output.splitlines() if line.startswith("expect ")]
    assert len(expected) == 16, output
    for each in expected:
        problems += compare(each, report)
    took = float(re.search("^latch (.*)", output, re.M)[1])
    waits = [w for w in report["waits"] if w["operation"]["call"] == "futex wait"]
    seconds = sum(w["seconds"] for w in waits if w["cause"]["call"] == "futex wake")
    if not 0.5 * took <= seconds <= 1.03 * took + 0.001:  # it calls sched_yield first, which takes long on a busy machine
        problems.append(f"waited {took:.4f} s for a std::latch, reported {seconds:.4f} s")
    if len(re.findall("^whywait · ", error, re.M)) != 1:
        problems.append("not one report, but: " + error)
    return problems


def waits_outside():
    """Time in which a thread waits for something outside of the process is that of the call, and no work; sleep is code."""
    output, _, report = run("outside", "outside")
    problems = list(consistent.contradictions(report))
    lines = [line.split() for line in output.splitlines()]
    took = {line[1]: float(line[2]) for line in lines if line[0] == "outside"}
    assert len(took) == 14, output
    inside = {}
    for block in report["critical_path"]:
        if block["kind"] == "call":
            function = short(block.get("function") or "")
            inside[function] = inside.get(function, 0) + block["seconds"]
    read_file = took.pop("read_file")
    if "read_file" in inside:
        problems.append("reading a file is work")
    asleep = {}
    for call in report["asleep"]["calls"]:
        function = short(call.get("function") or "")
        asleep[function] = asleep.get(function, 0) + call["seconds"]
    slept = {function: took.pop(function) for function in ("asleep", "asleep_short")}
    for function, seconds in slept.items():
        if not abs(asleep.get(function, 0) - seconds) <= 0.03 * seconds + 0.001:
            problems.append(f"{function}: slept {seconds:.4f} s, reported {asleep.get(function, 0):.4f} s")
        if function in inside:
            problems.append(f"{function} is code")
    slept["yielding"] = took.pop("yielding")  # the calls, not what the loop does between them
    if not 0.1 * slept["yielding"] <= asleep.get("yielding", 0) <= 1.03 * slept["yielding"] + 0.001 or "yielding" in inside:
        problems.append(f"yielding: {slept['yielding']:.4f} s, reported {asleep.get('yielding', 0):.4f} s")
    elsewhere = {}
    for call in report["outside"]["calls"]:
        function = short(call.get("function") or "")
        elsewhere[function] = elsewhere.get(function, 0) + call["seconds"]
    signal = took.pop("wait_for_signal")
    sent = sum(w["seconds"] for w in report["waits"] if w["cause"]["call"] == "pthread_kill")
    if not abs(sent - signal) <= 0.03 * signal + 0.001:
        problems.append(f"wait_for_signal: waited {signal:.4f} s, {sent:.4f} s because of pthread_kill")
    if report["outside"]["seconds"] < 0.97 * sum(took.values()):  # another thread waits for signals all the time
        problems.append(f"waited {sum(took.values()):.4f} s outside, reported {report['outside']['seconds']:.4f} s")
    for function in set(took) & set(elsewhere):
        if not abs(elsewhere[function] - took[function]) <= 0.03 * took[function] + 0.001:
            problems.append(f"{function}: took {took[function]:.4f} s, {elsewhere[function]:.4f} s of it outside")
    for function, seconds in took.items():
        if not abs(inside.get(function, 0) - seconds) <= 0.03 * seconds + 0.001:
            problems.append(f"{function}: took {seconds:.4f} s, reported {inside.get(function, 0):.4f} s")
    worked = sum(float(line[1]) for line in lines if line[0] == "worked") + read_file + sum(slept.values())
    useful = report["efficiency"]["parallel"] * report["run"]["ranks"] * report["run"]["seconds"]
    if not 0.9 * worked <= useful <= 1.03 * worked + 0.030:  # a thread goes on late behind each of 15 waits on a busy machine
        problems.append(f"threads worked {worked:.4f} s, but {useful:.4f} s are useful")
    return problems


def woken_for_nothing():
    """Of threads that are notified together one can go on. Not those of which one is notified, nor those that go on under the mutex."""
    output, _, report = run("woken", "woken")
    line = output.split()[1]
    found = [p["description"] for p in report["problems"] if p["problem"] in ("needless_wakeups", "lost_wakeup")]
    return [] if len(found) == 1 and f"slept.cpp:{line})" in found[0] else ["woken for nothing: " + str(found)]


def program_lines():
    """Waits through functions of the C++ library (unmodified/named.cpp): the report names the program's lines."""
    problems = []
    for at in named if library else []:
        output, _, report = run("named", program=at)
        lines = [line.split()[1:] for line in output.splitlines()]
        assert len(lines) == 10, output
        for function, line, took, ended_by in lines:
            at_line = [w for w in report["waits"] if w["operation"].get("line") == int(line)]
            seconds = sum(w["seconds"] for w in at_line if short(w["operation"].get("function", "")) == function
                          and w["operation"]["file"].endswith("named.cpp") and short(w["cause"].get("function", "")) == ended_by)
            if not 0 < seconds <= 1.03 * float(took) + 0.001:  # semaphores call sched_yield first, which takes long on a busy machine
                problems.append(f"{at}: {function} waited {took} s at line {line}, reported {seconds:.4f} s because of {ended_by}: " +
                                "; ".join(f"{w['text']}" if "text" in w else str([w["operation"], w["cause"]]) for w in report["waits"]))
    return problems


def openmp():
    """Waits of GCC's OpenMP, and those of its threads for others (unmodified/team.cpp)."""
    if not library:
        return []
    output, _, report = run("team", program=team)
    problems = list(consistent.contradictions(report))
    lines = [re.fullmatch(r"team (\w+) (.*) ([\d.]+)", line).groups() for line in output.splitlines()]
    assert len(lines) == 6, output
    for function, call, took in lines:
        seconds = sum(w["seconds"] for w in report["waits"] if w["operation"]["call"] == call and w["cause"]["call"]
                      and short(w["operation"].get("function", "")) == function)
        if not 0.5 * float(took) <= seconds <= 1.03 * float(took) + 0.001:  # on a busy machine a thread goes on late
            problems.append(f"{function}: waited {took} s in {call}, reported {seconds:.4f} s")
    return problems


def exact_counts():
    """Two threads that take a lock 500 times each, and the same without the locks: 1000 of 1000 are seen."""
    seen = [run("counted", "count", str(each))[2]["run"]["interposed_calls"] for each in (500, 0)]
    return [] if seen[0] - seen[1] == 1000 else [f"1000 locks, but {seen[0]} - {seen[1]} calls seen"]


def no_threads():
    _, error, report = run("alone", "none")
    return [] if report is None and error == "" else ["a report of a process without threads: " + error]


def switched_off():
    output, error, report = run("off", settings={"WHYWAIT_ENABLE": "0"}.items())
    return [] if report is None and error == "" and "expect" in output else ["recorded with WHYWAIT_ENABLE=0: " + error]


def chosen_library():
    """`whywait run` finds the installed library for a program without MPI, and for an interpreter where there is no other."""
    if not library:
        return []
    installed = folder / "installed"
    shutil.rmtree(installed, ignore_errors=True)
    for part in ("bin", "lib/whywait/threads"):
        (installed / part).mkdir(parents=True)
    shutil.copy(script, installed / "bin")
    (installed / "lib/whywait/threads/libwhywait_threads.so").symlink_to(library)
    problems = []
    for command in ([program], ["sh", "-c", "true"], ["python3", "x.py"]):
        done = subprocess.run([installed / "bin/whywait", "run", "--dry-run", "--", *command], capture_output=True, text=True)
        if "LD_PRELOAD=" + str(installed / "lib/whywait/threads/libwhywait_threads.so") not in done.stdout:
            problems.append(f"{command}: {done.stdout}{done.stderr}")
    for output, line in (("none/x", "cannot write into the folder none/; "), ("x%q", "contains a sequence that is not known"),
                         ("/proc/none/%p", "cannot write into the folder /proc/none/; "), ("x%p", ""), ("%p/x", ""), ("./", "")):
        done = subprocess.run([installed / "bin/whywait", "run", "--dry-run", "--output", output, "--", program], cwd=folder,
                              capture_output=True, text=True)
        if done.returncode != 0 or line not in done.stderr or len(done.stderr.splitlines()) != (1 if line else 0):
            problems.append(f"--output {output}: {done.stdout}{done.stderr}")
    said = subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if f"\n## [{said}]" not in (pathlib.Path(script).parent.parent / "CHANGELOG.md").read_text(encoding="utf-8"):
        problems.append(f"whywait --version: {said}")
    return problems


for check in (known_waits, waits_outside, woken_for_nothing, program_lines, openmp, exact_counts, no_threads, switched_off, chosen_library):
    for attempt in attempts(3):
        problems = check()
        if not problems:
            break
    if problems:
        sys.exit(f"{check.__name__}:\n" + "\n".join(problems))
    print(check.__name__, "attempt", attempt)
