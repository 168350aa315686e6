#!/usr/bin/env python3
"""Runs programs that were built without whywait, plain and under `whywait run`: the report names file and line of the late sender,
waits as long as the program measured itself, counts each call once, and the results are the same. Marks of C and Fortran do
nothing in the plain run, and name the late code in the observed one. `whywait run` refuses what cannot work.

    unmodified.py c|fortran|python|threads DIRECTORY LIBRARY MPICXX [OBSERVER.o] -- LAUNCHER [OPTION ...] -n

OBSERVER.o is linked into one more Fortran program, which is then observed without a preloaded library, and once with it. Exit code 77: a compiler
or mpi4py is missing."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import consistent  # noqa: E402

split = sys.argv.index("--")
language, directory, library, compiler, *observer = sys.argv[1:split]
launcher = sys.argv[split + 1:]
PARTS = pathlib.Path(__file__).resolve().parent / "parts" / "unmodified"
directory = pathlib.Path(directory)
shutil.rmtree(directory, ignore_errors=True)
directory.mkdir(parents=True)
environment = {name: value for name, value in os.environ.items() if not name.startswith("WHYWAIT_")}
environment["WHYWAIT_REPORT"] = "full"
failures = []


def run(title, command, **more):
    done = subprocess.run(command, cwd=directory, env=dict(environment, **more), capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        failures.append(f"{title}: {' '.join(command)}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def mpi_compiler(name):
    """mpicc.openmpi for mpicxx.openmpi."""
    path = pathlib.Path(compiler)
    found = shutil.which(path.parent / re.sub(r"mpi(cxx|c\+\+|CC)", name, path.name))
    if found is None:
        print(f"skipped: there is no {name} beside {compiler} (Debian: gfortran)")
        sys.exit(77)
    return str(found)


def line_of(source, words):
    return next(number for number, text in enumerate(source.read_text().splitlines(), 1) if words in text)


def result_of(output):
    return re.findall(r"^result .*", output, re.MULTILINE)


def check(title, source, plain, observed, report):
    result = result_of(plain)
    if not result or result != result_of(observed):
        failures.append(f"{title}: results differ: {plain} {observed}")
    measured = re.search(r"measured +([\d.]+) s, calls (\d+)", observed)
    if measured is None or not report.exists():
        failures.append(f"{title}: no measurement or no report: {observed}")
        return
    report = json.loads(report.read_text())
    failures.extend(f"{title}: {c}" for c in consistent.contradictions(report, None))
    seconds, calls = float(measured[1]), int(measured[2])
    waits = [w for w in report["waits"] if w["pattern"] == "late_sender" and w["operation"]["call"] == "MPI_Recv"]
    found = sum(w["seconds"] for w in waits)
    if abs(found - seconds) > 0.03 * seconds + 0.001 * sum(w["count"] for w in waits):
        failures.append(f"{title}: {found} s of waits, the program measured {seconds} s")
    places = {(pathlib.Path(w[side]["file"]).name, w[side]["line"]) for w in waits for side in ("operation", "cause")}
    expected = {(source.name, line_of(source, words)) for words in ("the receive", "the late send")}
    if places != expected:
        failures.append(f"{title}: the waits are at {places}, not at {expected}")
    if report["run"]["mpi_calls"] != calls:
        failures.append(f"{title}: {report['run']['mpi_calls']} calls were seen, the program made {calls}")
    if "marked" in title:
        marked = [b for w in waits for b in w["residual"] if b["block"].split("/")[-1] == "prepare"]
        visits, work = sum(b["causer_visits"] for b in marked), sum(b["causer_work"] for b in marked)
        if sum(b["seconds"] for b in marked) < 0.199 or visits != 8 or work != 36 or report["run"]["warnings"]:
            failures.append(f"{title}: the late code is not the region prepare: {[w['residual'] for w in waits]} "
                            f"{report['run']['warnings']}")


def uses_open_mpi(path):
    return "libmpi.so.40" in subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout


def python_with_mpi():
    """An interpreter whose mpi4py was built with this MPI."""
    find = "import importlib.util as u; s = u.find_spec('mpi4py') and u.find_spec('mpi4py.MPI'); print(s.origin if s else '')"
    for interpreter in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([interpreter, "-c", find], capture_output=True, text=True).stdout.strip()
        if found and uses_open_mpi(found) == uses_open_mpi(library):
            return interpreter
    print("skipped: there is no mpi4py for this MPI (Debian: python3-mpi4py, for Open MPI)")
    sys.exit(77)


def compare(title, source, program, linked=None):
    plain, _ = run(title, [*launcher, "2", *map(str, program)])
    whywait = ["sh", str(ROOT / "scripts" / "whywait"), "run", "--preload", library, "--report", "none"]
    if linked is None:
        observed, said = run(title, [*whywait, "--output", title, "--", *launcher, "2", *map(str, program)])
    else:
        observed, said = run(title, [*launcher, "2", str(linked)], WHYWAIT_OUTPUT=title, WHYWAIT_REPORT="none")
    if said:
        failures.append(f"{title}: standard error: {said}")
    check(title, source, plain, observed, directory / f"{title}.json")


def check_refusals():
    """What cannot work gives one line and exit code 2."""
    static = directory / "static"
    subprocess.run(["cc", "-static", "-x", "c", "-", "-o", str(static)], input="int main(void) { return 0; }", text=True,
                   check=True)
    threads_only, with_mpi = directory / "threads_only.so", directory / "with_mpi"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(threads_only)], text=True, check=True,
                   input="const char* whywait_text = \"whywait\";")
    subprocess.run([mpi_compiler("mpicc"), "-x", "c", "-", "-o", str(with_mpi)], text=True, check=True,
                   input="#include <mpi.h>\nint main(int n, char** v) { MPI_Init(&n, &v); return MPI_Finalize(); }")
    for arguments, words in (([], "no program to run"), (["--unknown", "x"], "unknown option --unknown"),
                             (["--", *launcher, "2", "./missing"], "no such program"),
                             (["--preload", library, "--", *launcher, "2", str(static)], "is linked statically"),
                             (["--preload", "missing.so", "--", *launcher, "2", "sleep", "0"], "no library"),
                             (["--preload", "/etc/passwd", "--", "sleep", "0"], "/etc/passwd is no library of whywait"),
                             (["--preload", shutil.which("env"), "--", "sleep", "0"], "is no library of whywait"),
                             (["--preload", str(threads_only), "--", *launcher, "2", str(with_mpi)], "uses MPI; name libwhywait_mpi.so"),
                             (["--output"], "--output needs a value")):
        done = subprocess.run([str(ROOT / "scripts" / "whywait"), "run", *arguments], cwd=directory, env=environment,
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or not re.fullmatch(f"whywait: .*{words}.*\n", done.stderr):
            failures.append(f"whywait run {arguments}: exit code {done.returncode}: {done.stderr}")
    table = (ROOT / "include" / "whywait" / "core" / "setting_table.hpp").read_text()
    options = (ROOT / "scripts" / "whywait").read_text()
    for name in re.findall(r'setting\{"WHYWAIT_(\w+)"', table):
        if name != "HELP" and not re.search(rf"--{name.lower()}\b[^\n]*\)$", options, re.MULTILINE):
            failures.append(f"whywait run has no option --{name.lower()}")


if language == "c":
    check_refusals()
    source, program = PARTS / "late.c", directory / "late"
    run("c", [mpi_compiler("mpicc"), "-std=gnu11", "-O1", "-g", str(source), "-o", str(program)])
    compare("c", source, [program])
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D_DEFAULT_SOURCE", "-DMARKED",
              "-Wno-stringop-overflow",  # mpi.h of MPICH
              f"-I{ROOT / 'include'}"]
    marked = directory / "marked"
    run("marked", [mpi_compiler("mpicc"), *strict, "-O1", "-g", str(source), "-o", str(marked)])
    compare("marked", source, [marked])
elif language == "threads":  # a chain through a lock: rank 1 waits for rank 0, which waits for a thread that holds a mutex
    source, program = PARTS / "held.cpp", directory / "held"
    run("threads", [compiler, "-std=c++17", "-O1", "-g", "-pthread", str(source), "-o", str(program)])
    output, _ = run("threads", ["sh", str(ROOT / "scripts" / "whywait"), "run", "--preload", library, "--report", "none",
                                "--output", "threads", "--", *launcher, "2", str(program)])
    report = json.loads((directory / "threads.json").read_text())
    failures.extend(f"threads: {c}" for c in consistent.contradictions(report, None))
    measured = float(re.search(r"waited ([\d.]+) s", output)[1])
    line = line_of(source, "the wait for the lock")
    locks = [w for w in report["waits"] if w["pattern"] == "mutex_contention" and w["operation"]["line"] == line]
    found = sum(w["seconds"] for w in locks)
    if abs(found - measured) > 0.03 * measured + 0.01:
        failures.append(f"threads: {found} s of waits for the lock, the program measured {measured} s")
    late = [w for w in report["waits"] if w["pattern"] == "late_sender"]
    for waits, name in ((locks, "lock"), (late, "receive")):
        seconds = sum(w["seconds"] for w in waits)
        guilty = sum(r["seconds"] for w in waits for r in w["residual"] if "flush_output" in r["block"])
        if seconds < 0.1 or guilty < 0.9 * min(seconds, measured):
            failures.append(f"threads: {name}: flush_output has {guilty} of {seconds} s: " +
                            "; ".join(f"{r['block']} {r['seconds']}" for w in waits for r in w["residual"]))
elif language == "python":
    source = PARTS / "late.py"
    compare("python", source, [python_with_mpi(), source])
else:
    source = PARTS / "late.F90"
    fortran = [mpi_compiler("mpif90"), "-O1", "-g", str(source)]
    for title, flags in ("mpif.h", []), ("mpi", ["-DBINDING_MPI"]), ("mpi_f08", ["-DBINDING_F08"]):
        program = directory / f"with_{title}"
        run(title, [*fortran, *flags, "-o", str(program)])
        compare(title, source, [program])
    marked = directory / "marked"
    module = directory / "whywait.o"
    run("marked", [fortran[0], "-std=f2008", "-O1", "-c", str(ROOT / "include" / "whywait" / "whywait.f90"), "-o", str(module)])
    run("marked", [*fortran, "-DBINDING_F08", "-DMARKED", str(module), "-o", str(marked)])
    compare("marked", source, [marked])
    linked = directory / "linked"
    run("linked", [*fortran, "-DBINDING_F08", *observer, "-lstdc++", "-o", str(linked)])
    compare("linked", source, [directory / "with_mpi_f08"], linked)
    compare("linked and preloaded", source, [linked])

for failure in failures:
    print(f"FAILED: {failure}")
print(f"programs in {language} that were built without whywait")
sys.exit(1 if failures else 0)
