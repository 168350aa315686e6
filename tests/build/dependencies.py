#!/usr/bin/env python3
"""scripts/dependencies.sh with pretended dpkg, apt and user: it installs what is missing, and only that."""
import pathlib
import tempfile

import tools

SCRIPT = tools.ROOT / "scripts" / "dependencies.sh"
QUICKSTART = ["g++", "cmake", "ninja-build", "libboost1.81-dev", "libdw1"]  # and one MPI
TESTS = QUICKSTART + ["libopenmpi-dev", "openmpi-bin", "libmpich-dev", "mpich", "doctest-dev", "libbenchmark-dev",
                      "nlohmann-json3-dev", "libvalijson-dev", "clang-16", "libclang-rt-16-dev", "libomp-16-dev", "clang-format-16",
                      "binutils", "pkg-config", "ccache", "python3", "util-linux", "gfortran", "python3-mpi4py",
                      "libotf2-trace-dev", "otf2-tools"]
# (title, what, user id, installed packages, does apt work) -> (exit code, packages that apt installs, words told)
CASES = [
    ("all there", "tests", 0, TESTS, True, 0, None, ""),
    ("all there, not root", "tests", 1000, TESTS, True, 0, None, ""),
    ("one missing", "tests", 0, [p for p in TESTS if p != "ccache"], True, 0, ["ccache"], "installing ccache"),
    ("one missing, not root", "tests", 1000, [p for p in TESTS if p != "ccache"], True, 3, None,
     "sudo apt-get install ccache"),
    ("apt fails", "tests", 0, [p for p in TESTS if p != "mpich"], False, 3, ["mpich"], "apt could not install: mpich"),
    ("nothing there", "tests", 0, [], True, 0, TESTS, "installing"),
    ("a compiler suffices for threads", "threads", 0, ["g++", "libdw1"], True, 0, None, ""),
    ("MPICH will do", "quickstart", 0, QUICKSTART + ["libmpich-dev", "mpich"], True, 0, None, ""),
    ("Open MPI will do", "quickstart", 1000, QUICKSTART + ["libopenmpi-dev", "openmpi-bin"], True, 0, None, ""),
    ("half an MPI will not do", "quickstart", 1000, QUICKSTART + ["libopenmpi-dev", "mpich"], True, 3, None,
     "install openmpi-bin"),
    ("no MPI", "quickstart", 0, QUICKSTART, True, 0, ["libopenmpi-dev", "openmpi-bin"], "openmpi-bin"),
    ("the quickstart with nothing there", "quickstart", 0, [], True, 0, QUICKSTART + ["libopenmpi-dev", "openmpi-bin"],
     "installing"),
    ("only the other recorders missing", "peers", 0, TESTS + ["procps"], True, 0,
     ["liblttng-ust-dev", "lttng-tools", "babeltrace2", "libmicroprofile-dev"], "installing"),
    ("a wrong word", "everything", 0, TESTS, True, 2, None, "usage"),
]


def main():
    failures = []
    for title, what, user, installed, apt_works, wanted_code, wanted_packages, words in CASES:
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            calls = directory / "apt-calls"
            pretended = {
                "dpkg-query": f'for last; do :; done\ncase " {" ".join(installed)} " in *" $last "*) '
                              'printf installed;; *) exit 1;; esac',
                "apt-get": f'echo "$@" >>{calls}; exit {0 if apt_works else 1}',
                "id": f"echo {user}",
            }
            for tool, body in pretended.items():
                path = directory / tool
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(0o755)
            for tool in ("bash", "mktemp", "rm", "cat"):  # nothing else of the machine is seen
                code, where, _ = tools.run(["sh", "-c", f"command -v {tool}"])
                (directory / tool).symlink_to(where.strip())
            code, _, told = tools.run([str(directory / "bash"), str(SCRIPT), what],
                                      env={"PATH": str(directory), "TMPDIR": name})
            apt = calls.read_text().splitlines() if calls.exists() else []
            if code != wanted_code or words not in told:
                failures.append(f"{title}: ended with {code}, wanted {wanted_code}, and told: {told}")
            if wanted_packages is None and apt:
                failures.append(f"{title}: called apt: {apt}")
            if wanted_packages is not None and apt_works:
                asked = apt[-1].split(" --no-install-recommends ")[-1].split() if apt else []
                if sorted(asked) != sorted(wanted_packages) or "update" not in apt[0]:
                    failures.append(f"{title}: apt was called with {apt}")
            if code == 3 and user and len(told.strip().splitlines()) != 1:
                failures.append(f"{title}: must be one line: {told}")
    tools.end(failures, f"{len(CASES)} cases")


main()
