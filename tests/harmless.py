#!/usr/bin/env python3
"""A program under `whywait run` ends as it does alone, wherever the report goes: a pipe whose reader has ended, a file at its limit of
size, a pipe without a reader, a descriptor 2 that the program uses for its data, a stack that is too small for the report.

    harmless.py threads|mpi DIRECTORY LIBRARY PROGRAM
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
kind, folder, library, program = sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:]
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
environment = {k: v for k, v in os.environ.items() if not k.startswith("WHYWAIT_") and k != "LD_PRELOAD"}
failures = []


def run(title, *arguments, stderr=subprocess.PIPE, before=None, **settings):
    """Standard output and standard error. The program must end with its own status."""
    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores both
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if before is not None:
            before()
    own = {**environment, **settings, "LD_PRELOAD": library}
    try:
        done = subprocess.run([program, *arguments], cwd=folder, env=own, stdout=subprocess.PIPE, stderr=stderr, text=True,
                              timeout=20, preexec_fn=prepare, check=False)
    except subprocess.TimeoutExpired:
        failures.append(f"{title}: it does not end")
        return "", ""
    if done.returncode != 3 or (done.stdout != "done\n" and "leaves" not in arguments):
        failures.append(f"{title}: exit code {done.returncode}, {done.stdout!r} {done.stderr}")
    return done.stdout, done.stderr or ""


def expect(title, condition, shown=""):
    if not condition:
        failures.append(f"{title}: {shown}")


def without_reader():
    read, write = os.pipe()
    os.close(read)
    return write


error = run("plain")[1]
expect("plain", "whywait · " in error, error)
ends = [()] if kind == "threads" else [(), ("leaves",)]
for words in ends:
    for settings in ({}, {"WHYWAIT_HELP": "1"}, {"WHYWAIT_OUTPUT": "none/x"}, {"WHYWAIT_RULES": "none.rules"}):
        pipe = without_reader()
        run(f"a pipe without a reader {words} {settings}", *words, stderr=pipe, **settings)
        os.close(pipe)
    with open(folder / "limited", "wb") as file:
        file.write(b"x" * 4096)
        file.flush()
        run(f"standard error at its limit {words}", *words, "limited", stderr=file)
    expect("standard error at its limit", (folder / "limited").stat().st_size == 4096)

    name = "large.json" if not words else "large.rank0.json"
    error = run(f"a report beyond the limit {words}", *words, "limited", WHYWAIT_OUTPUT="large")[1]
    expect(f"a report beyond the limit {words}", f"whywait: cannot write {'large.json: File too large' if not words else 'large'}"
           in error, error)
    os.mkfifo(folder / name.replace("large", "pipe"))
    error = run(f"a pipe as output {words}", *words, WHYWAIT_OUTPUT="pipe")[1]
    expect(f"a pipe as output {words}", "whywait: cannot write pipe." in error, error)

    run(f"closed {words}", "opens", "data", before=lambda: os.close(2), stderr=None, WHYWAIT_OUTPUT="closed",
        WHYWAIT_HELP="1", **({"WHYWAIT_UNKNOWN": "1"} if kind == "threads" else {}))  # the daemon of Open MPI inherits it
    expect(f"closed {words}", (folder / "data").read_bytes() == b"data\n", (folder / "data").read_bytes()[:200])
    expect(f"closed {words}", json.loads((folder / "closed.json").read_text())["schema"] == "whywait/1")

if kind == "threads":
    for where in "small", "signal":
        error = run(f"ends on a small stack: {where}", where)[1]
        expect(f"ends on a small stack: {where}", "whywait · " in error, error)
    few = (98304, 98304)
    run("the main thread has a small stack", before=lambda: resource.setrlimit(resource.RLIMIT_STACK, few))
    error = run("replaced by exec", "replaced", WHYWAIT_OUTPUT="replaced")[1]
    report = json.loads((folder / "replaced.json").read_text())
    expect("processor time before exec", "not recorded" not in error + str(report["run"]["warnings"]), error)

for failure in failures:
    print(f"FAILED: {failure}")
sys.exit(1 if failures else 0)
