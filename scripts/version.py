#!/usr/bin/env python3
"""Checks that all version numbers agree with include/whywait/core/version.hpp."""
import re
import sys

import amalgamate
import rooms


def main():
    version, wrong = amalgamate.version(), []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        wrong.append(f"include/whywait/core/version.hpp: cannot read a version, got '{version}'")
    source = (rooms.TREE / "whywait/core/version.hpp").read_text(encoding="utf-8")
    compared = ".".join(re.findall(r"WHYWAIT_VERSION_(?:MAJOR|MINOR|PATCH) != (\d+)", source))
    if compared != version:
        wrong.append(f"include/whywait/core/version.hpp: its last #elif compares with {compared}, wanted {version}")
    changes = (rooms.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changes, re.MULTILINE)
    if not newest or newest[1] != version:
        wrong.append(f"CHANGELOG.md: the newest version is {newest[1] if newest else 'missing'}, wanted {version}")
    readme = rooms.ROOT / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for number, line in enumerate(text.splitlines(), 1):
        for found in re.findall(r"(?:whywait |GIT_TAG v|find_package\(whywait )(\d+\.\d+(?:\.\d+)?)", line):
            if not version.startswith(found):
                wrong.append(f"README.md:{number}: names version {found}, wanted {version}")
    packed = str(int(version.split(".")[0]) * 1000 + int(version.split(".")[1])) if not wrong else ""
    for name, pattern in (("whywait.h", r"whywait_c_version = (\d+)"), ("whywait.f90", r"parameter :: version = (\d+)")):
        found = re.search(pattern, (rooms.TREE / "whywait" / name).read_text(encoding="utf-8"))
        if packed and (not found or found[1] != packed):
            wrong.append(f"include/whywait/{name}: is {found[1] if found else 'without version'}, wanted {packed}")
    module = (rooms.ROOT / "scripts/python/whywait/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([\d.]+)"', module, re.MULTILINE)
    if not found or found[1] != version:
        wrong.append(f"scripts/python/whywait/__init__.py: is {found[1] if found else 'without version'}, wanted {version}")
    for recipe, pattern in (("spack/package.py", r'version\("([\d.]+)", tag="v\1"\)'), ("vcpkg/vcpkg.json", r'"version": "([\d.]+)"')):
        found = re.search(pattern, (rooms.ROOT / "cmake/packaging" / recipe).read_text(encoding="utf-8"))
        if not found or found[1] != version:
            wrong.append(f"cmake/packaging/{recipe}: is {found[1] if found else 'without version'}, wanted {version}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
