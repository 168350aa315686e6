#!/usr/bin/env python3
"""Modules that contain marks but no recorder: they link, stay inert in a program without whywait, and are recorded by a
program that has the recorder, however they were compiled, linked and loaded. And two versions of whywait in one program
give one line.

    modules.py compiler [options ...]
"""
import pathlib
import re
import tempfile

import tools

import amalgamate

HERE = pathlib.Path(__file__).resolve().parent / "modules"
INCLUDE = tools.ROOT / "include"
# name, options of all modules, of the shared libraries only
VARIANTS = [
    ("plain", ["-O2"], []),
    ("hidden", ["-O2", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-ffunction-sections", "-fdata-sections"],
     ["-Wl,--gc-sections"]),
    ("bound early", ["-O0"], ["-Wl,-Bsymbolic", "-fno-semantic-interposition", "-Wl,-z,now"]),
    ("link-time optimisation", ["-O2", "-flto"], []),
]
BSS = 64 << 10  # of a module that records
BSS_LIGHT = 1 << 10


class build:
    """Compiles into a folder; the first failure ends the test."""

    def __init__(self, compiler, options, folder):
        self.command = [compiler, *tools.WARNINGS, "-std=c++17", *options]
        self.folder = folder

    def __call__(self, name, source, options, include=INCLUDE):
        path = self.folder / name
        code, _, messages = tools.run([*self.command, f"-I{include}", f"-I{HERE}", str(HERE / source), "-o", str(path), *options])
        if code != 0:
            tools.end([f"{name}: {messages}"], "")
        return path


def bss(path):
    return int(tools.run(["size", str(path)])[1].splitlines()[1].split()[2])


def run(path, *arguments):
    return tools.run([str(path), *arguments], env={"PATH": "/usr/bin:/bin"})


def try_variant(make, name, options, of_libraries, failures):
    shared = [*options, *of_libraries, "-shared", "-fPIC"]
    library = make("liblight.so", "light.cpp", [*shared, "-DLIGHT_FACTS=library_facts"])
    plugin = make("plugin.so", "light.cpp", [*shared, "-DLIGHT_FACTS=plugin_facts", "-DOWN_THREAD_LOCAL"])
    link = [*options, f"-L{make.folder}", "-llight", f"-Wl,-rpath,{make.folder}", "-pthread", "-ldl"]
    inert, recorder = make("inert", "inert.cpp", link), make("recorder", "recorder.cpp", link)
    for program, arguments in ((inert, []), (recorder, []), (recorder, ["plugin-first"])):
        code, text, messages = run(program, str(plugin), *arguments)
        if code != 0:
            failures.append(f"{name}: {program.name} {' '.join(arguments)}: exit code {code}\n{text}{messages}")
    static = make("light.o", "light.cpp", [*options, "-c", "-DLIGHT_FACTS=library_facts"])
    for source in ("inert.cpp", "recorder.cpp"):  # the library is static
        program = make("static", source, [*options, str(static), "-pthread", "-ldl"])
        code, text, messages = run(program, str(plugin))
        if code != 0:
            failures.append(f"{name}: {source} with a static library: exit code {code}\n{text}{messages}")
    for path, most in ((library, BSS_LIGHT), (recorder, BSS)):
        if bss(path) > most:
            failures.append(f"{name}: {path.name} has {bss(path)} bytes of .bss, at most {most}")
    if "STATIC_TLS" in tools.run(["readelf", "-d", str(plugin)])[1]:
        failures.append(f"{name}: marks of a shared library need static thread-local storage")


def other_version(text):
    text = re.sub(r"(#define WHYWAIT_VERSION_MINOR) \d+", r"\1 99", text)
    return re.sub(r"WHYWAIT_VERSION_MINOR != \d+", "WHYWAIT_VERSION_MINOR != 99", text)


def other_layout(text):
    return re.sub(r"(mark_interface =) \d+", r"\1 99", text)


def changed_tree(tree, change):
    for name in amalgamate.single("record.hpp")[1]:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change((INCLUDE / name).read_text(encoding="utf-8")), encoding="utf-8")
    return tree


def try_versions(make, compiler, failures):
    tree = changed_tree(make.folder / "other", other_version)
    library = make("liblight.so", "light.cpp", ["-shared", "-fPIC", "-DLIGHT_FACTS=library_facts"])
    old = make("old.so", "light.cpp", ["-shared", "-fPIC", "-DLIGHT_FACTS=plugin_facts"], tree)
    program = make("recorder", "recorder.cpp", [str(library), f"-Wl,-rpath,{make.folder}", "-pthread", "-ldl"])
    for order in (["plugin-last"], ["plugin-first"]):
        arguments = [str(old), "plugin-first", "start only"] if order == ["plugin-first"] else [str(old)]
        messages = run(program, *arguments)[2]
        if len(re.findall(r"two versions: \S*old\.so was compiled with whywait 0\.99\.0, ", messages)) != 1 or messages.count("\n") != 1:
            failures.append(f"two versions at run time, {order[0]}: not one line but {messages!r}")
    same = make("same.so", "light.cpp", ["-shared", "-fPIC", "-DLIGHT_FACTS=plugin_facts"],
                changed_tree(make.folder / "same_version", other_layout))
    for arguments in ([str(same)], [str(same), "plugin-first", "start only"]):
        messages = run(program, *arguments)[2]
        if len(re.findall(r"two layouts of one version: \S*same\.so was compiled", messages)) != 1 or messages.count("\n") != 1:
            failures.append(f"two layouts at run time, {arguments[1:]}: not one line but {messages!r}")
    single = amalgamate.single("record.hpp")[0]
    (make.folder / "one.hpp").write_text(single, encoding="utf-8")
    (make.folder / "two.hpp").write_text(other_version(single), encoding="utf-8")
    for second, wanted in (("one", False), ("two", True)):
        code, _, messages = tools.run([compiler, "-std=c++17", "-fsyntax-only", f"-I{make.folder}", "-x", "c++", "-"],
                                      f'#include "one.hpp"\n#include "{second}.hpp"\n')
        if (code != 0) != wanted or ("two versions of whywait meet in one file" in messages) != wanted:
            failures.append(f"one.hpp and {second}.hpp in one file: {messages!r}")


def main():
    compiler, options = tools.arguments()
    failures = []
    for name, flags, of_libraries in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            try_variant(build(compiler, options, pathlib.Path(folder)), name, flags, of_libraries, failures)
    with tempfile.TemporaryDirectory() as folder:
        try_versions(build(compiler, options, pathlib.Path(folder)), compiler, failures)
    tools.end(failures, f"{len(VARIANTS)} ways to build modules, and two versions, with {compiler}")


if __name__ == "__main__":
    main()
