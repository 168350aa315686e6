"""Shared by the checks of how whywait compiles: running compilers, reporting."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def run(command, source=None, **more):
    """Runs a command; returns (exit code, stdout, stderr). `source` goes to its standard input."""
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def arguments():
    """("compiler", [options after it]): the command line is  script compiler [options ...]."""
    if len(sys.argv) < 2:
        sys.exit("usage: script compiler [options ...]")
    return sys.argv[1], sys.argv[2:]


def end(failures, success):
    for failure in failures:
        print(f"FAILED: {failure}")
    if not failures:
        print(success)
    sys.exit(1 if failures else 0)
