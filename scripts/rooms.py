"""What the scripts know about the headers: the rooms, which may include which, and how to read a header."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "include"
SINGLE = ROOT / "single_include"

# Room -> rooms it may include besides itself; the table of include/whywait/README.md.
MAY_INCLUDE = {
    "core": set(),
    "record": {"core"},
    "sync": {"core", "record"},
    "explain": {"core"},
    "comm": {"core", "explain"},
    "rules": {"core", "explain"},
    "predict": {"core", "explain"},
    "report": {"core", "explain", "comm", "rules", "predict"},
}
HOT = {"core", "record", "sync"}
COLD = set(MAY_INCLUDE) - HOT

# Folders that hold the parts of umbrellas: they wire rooms like those, and only those may include them.
WIRING = {"mpi": ("mpi.hpp", "communication.hpp", "left_behind.hpp")}

# Umbrella -> rooms (or folders of rooms) that it must not reach, not even through others.
UMBRELLAS = {
    "record.hpp": COLD | {"sync", "mpi"},
    "whywait.hpp": {"sync/mpi", "mpi"},
    "mpi.hpp": {"comm"},  # takes long to compile: communication.hpp brings it
    "communication.hpp": set(),
    "left_behind.hpp": {"sync/mpi/mpi_header.hpp"},  # reads what MPI programs left, without MPI
    "thread.hpp": {"sync/mpi", "mpi"},
    "data.hpp": COLD | {"mpi"},
    "coverage.hpp": COLD | {"mpi"},
    "rules.hpp": HOT - {"core"} | {"mpi"},
    "predict.hpp": HOT - {"core"} | {"mpi"},
    "testing.hpp": set(),
    "benchmark.hpp": set(),
}
# The ones that single_include offers as one file.
SINGLE_HEADERS = ["record.hpp", "data.hpp", "mpi.hpp", "communication.hpp", "whywait.hpp", "coverage.hpp", "left_behind.hpp"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION_OPENS = re.compile(r"^\s*#\s*if")
CONDITION_CLOSES = re.compile(r"^\s*#\s*endif")
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")


def headers():
    """All headers of the tree as names like whywait/core/clock.hpp, sorted."""
    return sorted(path.relative_to(TREE).as_posix() for path in (TREE / "whywait").rglob("*.hpp"))


def room_of(name):
    """Room of a header's name; None for an umbrella."""
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else None


def guard_of(name):
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


class Line:
    """One line of a header: its number, text, how deep in #if (0: directly in the guard) and what it includes."""

    def __init__(self, number, text, depth, include, kind):
        self.number, self.text, self.depth, self.include, self.kind = number, text, depth, include, kind


def without_comments(text):
    """Blanks comments and string contents but keeps the lines, so that a commented directive is none."""
    def blank(match):
        found = match.group(0)
        if found.startswith(("/*", "//")):
            return re.sub(r"[^\n]", " ", found)
        return found
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def read(name):
    """Lines of a header. The depth does not count its guard."""
    text = (TREE / name).read_text(encoding="utf-8")
    code = re.sub(r"(?<=\d)'(?=\d)", "0", text)  # 1'000 is no character literal
    depth, lines = -1, []
    for number, (full, bare) in enumerate(zip(text.split("\n"), without_comments(code).split("\n")), 1):
        if CONDITION_CLOSES.match(bare):
            depth -= 1
        match = INCLUDE.match(bare)
        lines.append(Line(number, full, max(depth, 0), match[2] if match else None, match[1] if match else None))
        lines[-1].bare = bare
        if CONDITION_OPENS.match(bare):
            depth += 1
    if lines and lines[-1].text == "":
        lines.pop()
    return lines
