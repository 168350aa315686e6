#!/usr/bin/env python3
"""Files of single_include: two versions together are one error; files of the same version can be included together.

    two_versions.py compiler [options ...]      with the options for <mpi.h>, or the whole is left out
"""
import pathlib
import re
import tempfile

import tools

import amalgamate
import rooms


def main():
    compiler, options = tools.arguments()
    number = amalgamate.version()
    major, minor, patch = number.split(".")
    other = f"{major}.{int(minor) + 1}.{patch}"
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for header in rooms.SINGLE_HEADERS:
            text = amalgamate.single(header)[0]
            (folder / header).write_text(text, encoding="utf-8")
            newer = text.replace(f"WHYWAIT_VERSION_MINOR == {minor}", f"WHYWAIT_VERSION_MINOR == {int(minor) + 1}")
            newer = newer.replace(f"#define WHYWAIT_VERSION_MINOR {minor}", f"#define WHYWAIT_VERSION_MINOR {int(minor) + 1}")
            newer = newer.replace(f"this is {number}", f"this is {other}")
            if newer == text:
                failures.append(f"{header}: its version was not found")
            (folder / f"newer_{header}").write_text(newer, encoding="utf-8")

        def compiled(*names):
            return tools.run([compiler, *tools.WARNINGS, "-std=c++17", *options, f"-I{folder}", "-fsyntax-only", "-x", "c++", "-"],
                             "".join(f'#include "{header}"\n' for header in names))

        for first, second in (("record.hpp", "newer_record.hpp"), ("newer_record.hpp", "whywait.hpp"),
                              ("models.hpp", "newer_record.hpp")):
            code, _, messages = compiled(first, second)
            errors = re.findall(r"\berror:.*", messages)
            if code == 0 or len(errors) != 1 or "two versions of whywait" not in errors[0]:
                failures.append(f"{first}, then {second}: wanted one error, got {len(errors)}:\n{messages[:2000]}")
        together = [header for header in rooms.SINGLE_HEADERS if options or header != "whywait.hpp"]
        code, _, messages = compiled(*together, *together)
        if code != 0:
            failures.append(f"{', '.join(together)} in one file:\n{messages[:2000]}")
    tools.end(failures, f"two versions are one error, {', '.join(together)} of one version can be included together")


main()
