#!/usr/bin/env python3
"""Checks that tests/check.py, which judges the test programs, detects each kind of failure."""
import pathlib
import subprocess
import sys
import tempfile

import tools

CHECK = tools.ROOT / "tests" / "check.py"
CASES = [  # checks, shell program, exit code of check.py
    ("stdout ~ ^b$\n", "echo a; echo b", 0),
    ("stdout ~ ^c$\n", "echo a; echo b", 1),
    ("stdout !~ b\n", "echo a; echo b", 1),
    ("stderr ~ a\n", "echo a", 1),
    ("stderr ~ {ranks} ranks\n", "echo 3 ranks >&2", 0),
    ("exit 0\n", "exit 3", 1),
    ("", "exit 3", 1),
    ("exit nonzero\n", "exit 3", 0),
    ("exit nonzero\n", "exit 0", 1),
    ("exit any\n", "exit 3", 0),
    ("file f ~ x\n", "echo x > f", 0),
    ("file f ~ y\n", "echo x > f", 1),
    ("file f ~ x\n", "true", 1),
    ("json f\n", "echo '{}' > f", 0),
    ("json f\n", "echo '{' > f", 1),
    ("no file f\n", "true", 0),
    ("no file f\n", "echo > f", 1),
    ("", "sleep 20", 1),
    ("", "test -z \"$WHYWAIT_REPORT\"", 0),
    ("stdout = a\n", "echo a", 1),
    ("run: ranks 1\nstdout ~ a\nrun: ranks 2\nstdout ~ b\n", "echo a", 0),
]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for checks, program, wanted in CASES:
            path = directory / "case.check"
            path.write_text(checks)
            code, text, messages = tools.run([sys.executable, str(CHECK), "--checks", str(path), "--ranks", "3",
                                              "--seconds", "1", "--directory", str(directory / "run"), "--",
                                              "sh", "-c", program], env={"PATH": "/usr/bin:/bin", "WHYWAIT_REPORT": "x"})
            if code != wanted:
                failures.append(f"{checks!r} on {program!r}: {code}, wanted {wanted}\n{text}{messages}")
        source = directory / "case.cpp"
        for head, wanted in (("// stdout ~ b\nint x;\n", 1), ("// stdout ~ a\nint x;\n// stdout ~ b\n", 0)):
            source.write_text(head)
            code = subprocess.run([sys.executable, str(CHECK), "--checks", str(source), "--", "echo", "a"], check=False,
                                  stdout=subprocess.DEVNULL).returncode
            if code != wanted:
                failures.append(f"{head!r}: {code}, wanted {wanted}")
    tools.end(failures, f"{len(CASES) + 2} cases")


main()
