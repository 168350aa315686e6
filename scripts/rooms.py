"""The rooms of the headers, the allowed includes between them, and a reader for headers."""
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "include"
SINGLE = ROOT / "single_include"

# Room -> other rooms that it may include; the table of include/whywait/README.md. A vertical room (data, coverage) has hot
# and cold parts in separate folders; all other folders below a room belong to it.
MAY_INCLUDE = {
    # hot storey, which runs inside the measured program
    "core": set(),
    "record": {"core"},
    "data/marks": {"core", "record"},
    "coverage/counters": {"core", "record"},
    "mpi": {"core", "record", "data/marks", "coverage/counters"},
    "thread": {"core", "record", "data/marks"},
    # cold storey, which runs afterwards on plain records
    "base": {"core"},
    "explain": {"core", "base"},
    "clocks": {"core", "base", "explain"},
    "rules": {"core", "base", "explain"},
    "models": {"core", "base"},
    "whatif": {"core", "base", "explain", "clocks", "models"},
    "report": {"core", "base", "explain", "clocks", "rules", "whatif"},
    "comparison": {"core", "base", "models", "report"},
    "coverage/names": {"core", "base", "explain", "report"},
    "data/analysis": {"core", "base", "explain"},
    "data/report": {"core", "base", "explain", "rules", "data/analysis", "report"},
    # both storeys, for the end of a run
    "finalize": {"core", "record", "mpi", "thread", "data/marks", "base", "explain", "clocks", "rules", "whatif", "report",
                 "coverage/names"},
    "thread/finalize": {"core", "record", "thread", "data/marks", "base", "explain", "clocks", "rules", "report", "coverage/names", "finalize"},
    "data/finalize": {"core", "record", "mpi", "data/marks", "base", "explain", "rules", "data/analysis", "data/report",
                      "report", "finalize"},
    "otf2": {"core", "base", "explain", "report", "mpi", "finalize"},
    "postmortem": {"core", "record", "mpi", "base", "explain", "report", "finalize"},
}
HOT = {"core", "record", "data/marks", "coverage/counters", "mpi", "thread"}
BOTH = {"finalize", "thread/finalize", "data/finalize", "otf2", "postmortem"}
# Rooms and umbrellas that need another library: no umbrella includes them, and they compile only where it is installed.
LEAVES = {"otf2", "ompt"}
COLD = set(MAY_INCLUDE) - HOT - BOTH

# Umbrella -> rooms (or headers) that it must not reach, directly or indirectly.
UMBRELLAS = {
    "record.hpp": COLD | BOTH | {"mpi"},
    "whywait.hpp": {"mpi", "postmortem", "data/finalize"},
    "threads_observer.hpp": {"mpi", "postmortem", "data/finalize"},  # the implementation of whywait.hpp
    "mpi.hpp": {"data/analysis", "data/report", "data/finalize"},  # in communication.hpp, because they take long to compile
    "observer.hpp": {"data/analysis", "data/report", "data/finalize"},  # the implementation of mpi.hpp
    "communication.hpp": set(),
    "sharing.hpp": {"mpi"},
    "left_behind.hpp": {"mpi/mpi_header.hpp"},  # reads files of MPI programs without MPI
    "thread.hpp": COLD | BOTH | {"mpi"},
    "pthread.hpp": COLD | BOTH | {"mpi"},
    "data.hpp": COLD | BOTH,
    "coverage.hpp": COLD | BOTH,
    "rules.hpp": HOT - {"core"} | BOTH,
    "result.hpp": HOT - {"core"} | BOTH | {"base", "explain", "clocks", "rules", "models", "whatif"},
    "models.hpp": HOT - {"core"} | BOTH | {"explain", "whatif"},
    "whatif.hpp": HOT - {"core"} | BOTH,
    "compare.hpp": HOT - {"core"} | BOTH,
    "otf2.hpp": set(),
    "gomp.hpp": COLD | BOTH | {"mpi"},
    "ompt.hpp": COLD | BOTH | {"mpi"},
    "kokkos.hpp": COLD | BOTH | {"mpi"},
    "nvtx.hpp": COLD | BOTH | {"mpi"},
    "caliper.hpp": COLD | BOTH | {"mpi"},
    "testing.hpp": set(),
    "benchmark.hpp": set(),
}
# Umbrella -> what it includes only without a macro: files of a program whose implementation is compiled elsewhere
# (whywait_observe() of CMake) see declarations. The file of single_include that holds the umbrella begins with it.
ONLY_IMPLEMENTATION = {
    "whywait/mpi.hpp": "whywait/observer.hpp",
    "whywait/whywait.hpp": "whywait/threads_observer.hpp",
    "whywait/communication.hpp": "whywait/data/finalize/communication_analysis.hpp",
    "whywait/sharing.hpp": "whywait/data/finalize/sharing_analysis.hpp",
}
# File of single_include -> umbrellas that it holds. None: all of the tree that no other entry and no test owns.
SINGLE_HEADERS = {
    "record.hpp": ["record.hpp", "data.hpp"],  # marks
    "whywait.hpp": None,                       # the whole: observes MPI, explains, analyses data
    "models.hpp": ["models.hpp"],
}
NOT_SINGLE = {"sharing.hpp", "testing.hpp", "benchmark.hpp", "compare.hpp", "otf2.hpp", "kokkos.hpp", "nvtx.hpp", "caliper.hpp", "pthread.hpp", "gomp.hpp", "ompt.hpp"}  # compare.hpp reads files, beside the program

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION_OPENS = re.compile(r"^\s*#\s*if")
CONDITION_CLOSES = re.compile(r"^\s*#\s*endif")
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")


def headers():
    """All headers of the tree, sorted, as names such as whywait/core/clock.hpp."""
    return sorted(path.relative_to(TREE).as_posix() for path in (TREE / "whywait").rglob("*.hpp"))


def room_of(name):
    """Room of a header's name, with its part for a vertical room (data/marks); None for an umbrella."""
    parts = name.split("/")
    if len(parts) <= 2:
        return None
    part = "/".join(parts[1:3])
    return part if part in MAY_INCLUDE else parts[1]


def guard_of(name):
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


class Line:
    """One line of a header with its number, text, #if depth (0 is directly inside the guard) and include."""

    def __init__(self, number, text, depth, include, kind):
        self.number, self.text, self.depth, self.include, self.kind = number, text, depth, include, kind


def without_comments(text):
    """Blanks comments but keeps the lines, so that directives in comments are ignored."""
    def blank(match):
        found = match.group(0)
        if found.startswith(("/*", "//")):
            return re.sub(r"[^\n]", " ", found)
        return found
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def read(name):
    """Lines of a header. The depth does not count its guard."""
    return lines_of(TREE / name)


@functools.lru_cache(maxsize=None)
def lines_of(path):
    text = path.read_text(encoding="utf-8")
    code = re.sub(r"(?<=\d)'(?=\d)", "0", text)  # 1'000 is not a character literal
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
