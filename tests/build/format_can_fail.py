#!/usr/bin/env python3
"""scripts/format.sh --check accepts a formatted file, and reports another one and leaves it as it is."""
import pathlib
import tempfile

import tools

SCRIPT = str(tools.ROOT / "scripts" / "format.sh")


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / ".clang-format").write_text((tools.ROOT / ".clang-format").read_text())
        good, bad = folder / "good name.cpp", folder / "bad.cpp"
        good.write_text("int a;\n")
        bad.write_text("int   a;\n")
        code, out, err = tools.run([SCRIPT, "--check", str(good)])
        if code != 0:
            failures.append(f"a formatted file: exit code {code}: {out}{err}")
        code, out, err = tools.run([SCRIPT, "--check", str(good), str(bad)])
        if code != 1 or f"{bad}:1: " not in out or str(good) in out:
            failures.append(f"a file that is not formatted: exit code {code}: {out}{err}")
        if bad.read_text() != "int   a;\n":
            failures.append("--check changed a file")
        code, out, err = tools.run([SCRIPT, str(good), str(bad)])
        if code != 0 or bad.read_text() != "int a;\n":
            failures.append(f"formatting: exit code {code}: {out}{err}")
        code, out, err = tools.run([SCRIPT, "--check", str(folder / "missing.cpp")])
        if code == 0:
            failures.append("a missing file passes")
    tools.end(failures, "formatted files pass, others fail")


main()
