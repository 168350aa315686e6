#!/usr/bin/env python3
"""What whywait needs is said in one clear message: C++17 and Linux, exceptions where it is implemented, literals in macros, guards that are kept.

    needs.py compiler [options ...]
"""
import re

import tools

import rooms

INCLUDE = "#include <whywait/record.hpp>\n"
FUNCTION = "void f{0}(const char* name);\nvoid f{0}(const char* name) {{ static_cast<void>(name); {1} }}\n"
LITERAL = "the name in a macro must be a string literal"
REFUSED = [  # statement, what the compiler must say
    ("WHYWAIT_REGION(name);", LITERAL),
    ("WHYWAIT_WAIT(name);", LITERAL),
    ("WHYWAIT_NEXT(name);", LITERAL),
    ("WHYWAIT_BLOCK(name);", LITERAL),
    ("static whywait::site s(whywait::site_kind::region, \"s\"); whywait::region(s, 1);", "error"),
    ("whywait::region(\"x\");", "nodiscard"),
    ("whywait::waiting(\"x\");", "nodiscard"),
]
ACCEPTED = ["WHYWAIT_REGION(\"a\" \"b\");", "WHYWAIT_BLOCK(R\"(raw)\");", "WHYWAIT_NEXT(__FILE__);", "WHYWAIT_WAIT(\"\\\"\");",
            "const whywait::region r(name);", "struct { const char* data() const { return \"abc\"; } unsigned long size() const"
            " { return 2; } } text; whywait::begin(text); whywait::visit(text); whywait::end(text); const whywait::waiting w(text);"]


def main():
    compiler, options = tools.arguments()
    failures = []

    def compile_text(text, *flags):
        code, _, messages = tools.run([compiler, *tools.WARNINGS, *options, f"-I{rooms.TREE}", *flags, "-fsyntax-only", "-x", "c++",
                                       "-"], text)
        return code, messages

    # the preprocessor refuses, in each umbrella; clang, which reads on after that, only needs to print the same for one of each kind
    clang = "clang" in tools.run([compiler, "--version"])[1]
    for umbrella in ("record.hpp", "mpi.hpp") if clang else rooms.UMBRELLAS:
        if not (rooms.TREE / "whywait" / umbrella).exists():
            continue
        for flags, message in ((["-std=c++14"], "whywait needs C++17 or later: compile with -std=c++17"),
                               (["-std=c++17", "-U__linux__"], "whywait needs Linux")):
            code, messages = compile_text(f"#include <whywait/{umbrella}>\n", *flags)
            errors = re.findall(r"error: .*", messages)
            if code == 0 or len(errors) != 1 or message not in errors[0]:
                failures.append(f"{umbrella} {' '.join(flags)}: wanted \"{message}\" alone, got {errors[:4]}")
    has_mpi = compile_text("#include <mpi.h>\n", "-std=c++17", "-w")[0] == 0
    without = ["-fno-exceptions", "-fno-rtti", "-std=c++17"]
    for umbrella in ("record.hpp", "mpi.hpp", "whywait.hpp", "data.hpp"):
        if not (rooms.TREE / "whywait" / umbrella).exists() or (umbrella == "mpi.hpp" and not has_mpi):
            continue
        code, messages = compile_text(f"#include <whywait/{umbrella}>\n", *without, "-DWHYWAIT_OBSERVED", "-DWHYWAIT_OBSERVED_DATA")
        if code != 0:
            failures.append(f"{umbrella} of an observed program {' '.join(without)}: {messages}")
        if umbrella in ("mpi.hpp", "whywait.hpp"):
            code, messages = compile_text(f"#include <whywait/{umbrella}>\n", *without)
            errors = re.findall(r"error: .*", messages)
            if code == 0 or len(errors) != 1 or "this header of whywait needs exceptions" not in errors[0]:
                failures.append(f"{umbrella} {' '.join(without)}: wanted one message about exceptions, got {errors[:4]}")
    for statement, message in REFUSED:
        code, messages = compile_text(INCLUDE + FUNCTION.format("", statement), "-std=c++17")
        if code == 0 or message not in messages:
            failures.append(f"{statement}: wanted \"{message}\", got {messages!r}")
    accepted = INCLUDE + "".join(FUNCTION.format(i, statement) for i, statement in enumerate(ACCEPTED))
    for flags in (["-std=c++17"], ["-std=c++20"], ["-std=c++17", "-DWHYWAIT_DISABLE"]):
        code, messages = compile_text(accepted, *flags)
        if code != 0:
            failures.append(f"{accepted} {' '.join(flags)}: {messages}")
    code, messages = compile_text("#include <whywait/record.hpp>\n", "-std=c++17", "-U__linux__", "-DWHYWAIT_DISABLE")
    if code != 0:
        failures.append(f"switched off on another system: {messages}")
    tools.end(failures, f"what is missing is said once with {compiler}")


main()
