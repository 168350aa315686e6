#!/usr/bin/env python3
"""Builds and runs a user program with whywait in the way of a separate project.

    consume.py find_package|add_subdirectory|fetch_content|pkg_config|single_include|plain_compiler
               --build TREE --compiler C++ [--mpi-compiler MPICXX] [--quick-compiler C++]
    consume.py observed_find_package|observed_add_subdirectory|observed_fetch_content
               --build TREE --compiler C++ --mpi-compiler MPICXX [--quick-compiler C++]

TREE is a configured build tree of whywait, from which `cmake --install` copies the content of a package. The quick compiler
compiles the implementation where that takes long: clang takes half the time of g++, which compiles it in the tree itself.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent


def run(*command, **more):
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], check=False, text=True, errors="surrogateescape",
                          stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        sys.exit(f"FAILED: ended with {done.returncode}")
    return done.stdout


def version():
    sys.path.insert(0, str(ROOT / "scripts"))
    import amalgamate
    return amalgamate.version()


def check_observed(out):
    """The observer was compiled once, and no other object has a wrapper."""
    objects = list(out.rglob("*.o"))
    observers = [path for path in objects if path.name == "observe.cpp.o"]
    if len(observers) != 1:
        sys.exit(f"FAILED: compiled {len(observers)} times: observe.cpp")
    for path in objects:
        symbols = run("nm", "--defined-only", path, stdout=subprocess.PIPE)
        if ("MPI_Send" in symbols.split()) != (path == observers[0]):
            sys.exit(f"FAILED: {path.name} has the wrappers, or the observer has none")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kind")
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--compiler", required=True)
    options.add_argument("--mpi-compiler")
    options.add_argument("--quick-compiler")
    options = options.parse_args()
    kind, mpi = options.kind, options.mpi_compiler
    quick = options.quick_compiler or options.compiler

    # blanks and letters beyond ASCII, as users have them
    with tempfile.TemporaryDirectory(prefix="whywait consumer \u00fc ") as name:
        directory = pathlib.Path(name)
        # a copy of the sources elsewhere, to show that they are independent of their place and of the rest of the tree
        consumers = directory / "consumers"
        shutil.copytree(HERE, consumers, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        prefix, out = directory / "prefix", directory / "out"
        how = kind.removeprefix("observed_")
        if how in ("find_package", "pkg_config", "single_include"):
            run("cmake", "--install", options.build, "--prefix", prefix, stdout=subprocess.DEVNULL)
            if list(prefix.rglob("*.a")) or list(prefix.rglob("*.so")):
                sys.exit("FAILED: a header-only package must install no library")

        programs = []
        if kind.startswith("observed_"):
            run("cmake", "-S", consumers / "observed", "-B", out, "-G", "Ninja", f"-DHOW={how}",
                f"-DCMAKE_CXX_COMPILER={quick}", f"-DWHYWAIT_VERSION={version()}",
                f"-DWHYWAIT_SOURCE_DIR={ROOT}", f"-DFETCHCONTENT_SOURCE_DIR_WHYWAIT={ROOT}",
                f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_CXX_COMPILER={mpi}",
                # what is compiled differs only in where the headers are, so one kind does it in earnest
                *([] if how == "find_package" else ["-DCMAKE_CXX_FLAGS=-DWHYWAIT_DISABLE"]))
            run("cmake", "--build", out, "-j", "1")
            if how == "find_package":
                check_observed(out)
            programs += [out / name for name in ("program", "c_program", "with_static", "with_shared")]
        elif kind in ("find_package", "add_subdirectory", "fetch_content"):
            configure = ["cmake", "-S", consumers / kind, "-B", out, "-G", "Ninja",
                         f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DWHYWAIT_VERSION={version()}",
                         f"-DWHYWAIT_SOURCE_DIR={ROOT}", f"-DFETCHCONTENT_SOURCE_DIR_WHYWAIT={ROOT}",
                         f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWITH_MPI={'ON' if mpi else 'OFF'}"]
            if mpi:
                configure.append(f"-DMPI_CXX_COMPILER={mpi}")
            if kind != "fetch_content":  # a full compilation takes long, and single_include covers it
                configure.append("-DCMAKE_CXX_FLAGS=-DWHYWAIT_DISABLE")
            run(*configure)
            if kind == "fetch_content":
                for target, words in (("mpi", "whywait::mpi_is_off"), ("otf2", "whywait::otf2_needs_MPI_and_OTF2")):
                    done = subprocess.run([*map(str, configure), f"-DLINK_MISSING={target}"], check=False, text=True, capture_output=True)
                    if done.returncode == 0 or words not in done.stderr:
                        sys.exit(f"FAILED: linking whywait::{target} does not say what is missing: {done.stderr}")
                run(*configure, "-DLINK_MISSING=")
            run("cmake", "--build", out, "-j", "1")
            programs.append(out / "plain")
            if mpi and kind != "fetch_content":
                programs.append(out / "with_mpi")
        elif kind == "pkg_config":
            environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "share/pkgconfig"))
            if run("pkg-config", "--modversion", "whywait", env=environment,
                   stdout=subprocess.PIPE).strip() != version():
                sys.exit("FAILED: pkg-config tells another version")
            flags = run("pkg-config", "--cflags", "--libs", "whywait", env=environment, stdout=subprocess.PIPE)
            # a shell reads them; pkg-config puts a backslash before each byte that is not ASCII
            flags = [os.fsdecode(os.fsencode(flag)) for flag in shlex.split(flags)]
            run(options.compiler, "-std=c++17", consumers / "plain.cpp", *flags, "-o", directory / "plain")
            programs.append(directory / "plain")
            if mpi:  # whywait-mpi requires whywait, and finds mpi.h and Boost
                flags = run("pkg-config", "--cflags", "whywait-mpi", env=environment, stdout=subprocess.PIPE)
                flags = [os.fsdecode(os.fsencode(flag)) for flag in shlex.split(flags)]
                (directory / "mpi.cpp").write_text("#include <mpi.h>\n#include <whywait/record.hpp>\nint main() { return MPI_Init(nullptr, nullptr); }\n")
                run(options.compiler, "-std=c++17", "-fsyntax-only", *flags, directory / "mpi.cpp")
        elif kind in ("single_include", "plain_compiler"):
            # only -I, no definition, no library
            include = prefix / "share/whywait/single_include" if kind == "single_include" else ROOT / "include"
            run(options.compiler, "-std=c++17", f"-I{include}", consumers / "plain.cpp", "-o", directory / "plain")
            programs.append(directory / "plain")
            if mpi and kind == "single_include":  # all other tests cover the mpi.hpp of the tree
                program = consumers / "with_mpi.cpp"  # there one file holds the whole
                program.write_text(program.read_text().replace("<whywait/mpi.hpp>", "<whywait/whywait.hpp>"))
                # the wrappers of Open MPI and of MPICH read which compiler to call
                run(mpi, "-std=c++17", f"-I{include}", program, "-o", directory / "with_mpi",
                    env=dict(os.environ, OMPI_CXX=quick, MPICH_CXX=quick))
                programs.append(directory / "with_mpi")
        else:
            sys.exit(f"unknown kind {kind}")

        for program in programs:
            told = run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            print(told)
            if program.name == "with_mpi" and ("whywait" in told) == (kind != "single_include"):
                sys.exit("FAILED: the program with MPI printed no report, or one although it was switched off")
            if kind.startswith("observed_") and bool(re.search(r"\b10[0-9] MPI calls\b", told)) != (how == "find_package"):
                sys.exit("FAILED: 100 barriers were not seen, or although whywait was switched off")
        print(f"{len(programs)} programs built and run with {kind}")


main()
