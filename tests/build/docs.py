#!/usr/bin/env python3
"""The documents agree with the tree: links and anchors resolve, headers and WHYWAIT_ names exist, tables list what the sources have.

    docs.py [--root FOLDER]
"""
import argparse
import pathlib
import re
import tempfile

import tools

# Names that a document may use although no source has them: misspelt on purpose, or of a build elsewhere.
NOT_OURS = {"WHYWAIT_REPRT", "WHYWAIT_", "WHYWAIT_ROOM_FILE_HPP"}
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SETTING = re.compile(r'setting\{\s*"(\w+)",\s*"([^"]*)",\s*"([^"]*)",')


def anchors(text):
    """The anchors that GitHub gives the headings."""
    seen, out = {}, set()
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", FENCE.sub("", text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        out.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return out


def check(root):
    failures = []
    pages = {path: path.read_text(encoding="utf-8")
             for path in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("include/**/*.md")]}
    sources = "".join(path.read_text(encoding="utf-8", errors="replace")
                      for folder in ("include", "cmake", "tests", "examples", "benchmarks", "scripts")
                      for path in (root / folder).rglob("*") if path.is_file() and path.suffix != ".md" and path.name != "docs.py")
    sources += (root / "CMakeLists.txt").read_text(encoding="utf-8")
    names = set(re.findall(r"WHYWAIT_[A-Z0-9_]*", sources))
    headers = [path.relative_to(root).as_posix() for folder in ("include", "tests", "single_include")
               for path in (root / folder).rglob("*.hpp")]
    for path, text in pages.items():
        where = path.relative_to(root)
        for match in LINK.finditer(FENCE.sub("", text)):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            other = (path.parent / file).resolve() if file else path
            if not other.exists():
                failures.append(f"{where}: no such file: {target}")
            elif anchor and other.suffix == ".md" and anchor not in anchors(other.read_text(encoding="utf-8")):
                failures.append(f"{where}: no such heading: {target}")
        for file in re.findall(r"(?:include|tests|examples|benchmarks|scripts|cmake|docs)/[\w./-]*\w\.\w+", text):
            if not (root / file).exists() and not (path.parent / file).exists():
                failures.append(f"{where}: no such file: {file}")
        for header in re.findall(r"<(whywait/[\w/]+\.hpp)>", text):
            if not (root / "include" / header).exists():
                failures.append(f"{where}: no such header: {header}")
        for header in re.findall(r"`([\w/]+\.hpp)`", text):
            if not any(f"/{path}".endswith(f"/{header}") for path in headers):
                failures.append(f"{where}: no such header: {header}")
        for name in set(re.findall(r"WHYWAIT_[A-Z0-9_]*", text)) - names - NOT_OURS:
            failures.append(f"{where}: nothing in the sources is called {name}")
    return failures, pages


def check_contents(root):
    failures = []

    def read(name):
        return (root / name).read_text(encoding="utf-8")

    # README's program is an example, and what must be in its output is in the report below it
    blocks = [text for kind, text in FENCED.findall(read("README.md")) if kind == "cpp"]
    if blocks[:1] != [read("examples/uneven.cpp")]:
        failures.append("README.md: the program is not examples/uneven.cpp")
    report = re.sub(r"^    ", "", read("README.md"), flags=re.M)
    for line in read("examples/uneven.check").split("\nrun:")[0].splitlines():
        pattern = re.match(r"stderr ~ (.+)", line)
        if pattern and not re.search(pattern.group(1), report, re.M):
            failures.append(f"README.md: its report does not have what examples/uneven.check demands: {pattern.group(1)}")

    # the reference lists the settings of the table, in its words
    table = SETTING.findall(re.sub(r'"\s*\n\s*"', "", read("include/whywait/core/setting_table.hpp")))
    rows = re.findall(r"^\| `(WHYWAIT_\w+)` \| ([^|]*?) ?\| ([^|]*?) ?\|", read("docs/reference/settings.md"), re.M)
    listed = [(name, values, fallback.strip().strip("`")) for name, values, fallback in rows
              if not name.startswith(("WHYWAIT_MPI", "WHYWAIT_INSTALL", "WHYWAIT_OTF2", "WHYWAIT_PRELOAD", "WHYWAIT_TOOLS", "WHYWAIT_DEV", "WHYWAIT_SANITIZE", "WHYWAIT_TEST",
                                      "WHYWAIT_DISABLE", "WHYWAIT_NO_COVERAGE", "WHYWAIT_OBSERVED"))]
    if not table or listed != table:
        failures.append(f"docs/reference/settings.md: lists {listed}, the table has {table}")

    # every error number is documented, and no other
    errors = read("docs/reference/errors.md")
    numbers = {"R": re.findall(r"= (\d+),", re.search(r"enum class code.*?\};", read("include/whywait/rules/diagnostic.hpp"), re.S).group(0)),
               "P": re.findall(r"= (\d+),", re.search(r"enum class fault.*?\};", read("include/whywait/models/error.hpp"), re.S).group(0))}
    for letter, found in numbers.items():
        documented = {int(n) for n in re.findall(rf"^\| {letter}(\d+) \|", errors, re.M)}
        # R070 is no diagnostic of a text, but of its file; an enumerator may follow from the one before it
        if not {int(n) for n in found} <= documented:
            failures.append(f"docs/reference/errors.md: {letter} lacks {sorted({int(n) for n in found} - documented)}")
    headers = "".join(path.read_text(encoding="utf-8") for path in (root / "include").rglob("*.hpp"))
    used = {int(n) for n in re.findall(r'"whywait-X(\d+)', headers)}
    documented = {int(n) for n in re.findall(r"^\| X(\d+) \|", errors, re.M)}
    if used != documented:
        failures.append(f"docs/reference/errors.md: X has {sorted(documented)}, the sources {sorted(used)}")

    # each fact of a wait is described; of calls once, with `_call`, `_region` and `_site`
    facts = re.search(r'\{"wait",(.*?)(?:true|false)\}', read("include/whywait/rules/fact_types.hpp"), re.S).group(1)
    names = set(re.findall(r"\w+", re.sub(r"\w+:", "", facts)))
    described = set(re.findall(r"`(\w+)`", read("docs/reference/rules.md").partition("### Facts of a wait")[2]))
    for name in sorted(names - described):
        if not name.startswith(("operation_", "cause_")):
            failures.append(f"docs/reference/rules.md: does not describe the fact {name} of a wait")

    # the messages that troubleshooting quotes are those of the sources
    page = read("docs/troubleshooting.md")
    joined = re.sub(r'"\s*\n\s*"', "", headers)
    shown = " ".join(re.sub(r"<!--.*?-->", "", page, flags=re.S).split())
    for message in re.findall(r"<!-- message: (.*?) -->", page):
        if message not in joined:
            failures.append(f"docs/troubleshooting.md: no source has the message: {message}")
        if message.strip() not in shown and message.strip().lower() not in shown.lower():
            failures.append(f"docs/troubleshooting.md: does not show the message: {message}")

    failures += check_map(root, read("include/whywait/README.md"))

    # every room has a page, every card stands in the index
    for room in (root / "include/whywait").iterdir():
        if room.is_dir() and not (root / "docs/internals" / f"{room.name}.md").exists():
            failures.append(f"docs/internals: no page for the room {room.name}")
    index = read("docs/rules/README.md")
    for card in (root / "docs/rules").glob("*.md"):
        if card.name != "README.md" and f"]({card.name})" not in index:
            failures.append(f"docs/rules/README.md: does not list {card.name}")
    return failures


def check_map(root, text):
    """include/whywait/README.md describes every header once: a section for each folder, a row for each file of it."""
    where = "include/whywait/README.md"
    tree = root / "include/whywait"
    above, _, below = text.partition("## The files")
    umbrellas = {name for cell in re.findall(r"^\| (.+?) \|", above, re.M) for name in re.findall(r"`(\w+\.hpp)`", cell)}
    listed = [("", name, "holds") for name in umbrellas]
    for folder, rows in re.findall(r"^### (\S+)\n(.*?)(?=^### |\Z)", below, re.M | re.S):
        listed += [(f"{folder}/", name, what.strip()) for name, what in re.findall(r"^\| `(\w+\.hpp)` \|([^|]*)\|", rows, re.M)]
    names = [folder + name for folder, name, _ in listed]
    there = {path.relative_to(tree).as_posix() for path in tree.rglob("*.hpp")}
    failures = [f"{where}: no such header: {name}" for name in sorted(set(names) - there)]
    failures += [f"{where}: does not list {name}" for name in sorted(there - set(names))]
    failures += [f"{where}: lists {name} twice" for name in sorted(set(names)) if names.count(name) > 1]
    return failures + [f"{where}: does not say what {folder + name} holds" for folder, name, what in listed if not what]


def self_test():
    """A wrong link, anchor, header, file and name are each found."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for folder in ("docs", "include/whywait", "cmake", "tests", "examples", "benchmarks", "scripts"):
            (root / folder).mkdir(parents=True)
        (root / "CMakeLists.txt").write_text("option(WHYWAIT_REAL)\n")
        (root / "include/whywait/real.hpp").write_text("")
        (root / "README.md").write_text("# A b\n[x](docs/a.md#heading-two) [y](#a-b) `WHYWAIT_REAL` <whywait/real.hpp>\n")
        (root / "docs/a.md").write_text("# One\n## Heading: two\n```text\n[not](a-link)\n```\n")
        if check(root)[0]:
            return [f"found something wrong where nothing is: {check(root)[0]}"]
        wrong = ["[x](b.md)", "[x](docs/a.md#three)", "`WHYWAIT_UNREAL`", "<whywait/unreal.hpp>", "`tests/none.cpp`", "`none.hpp`"]
        (root / "README.md").write_text("\n".join(wrong))
        found = check(root)[0]
        if len(found) != len(wrong):
            return [f"of {wrong} only these were found: {found}"]
        (root / "include/whywait/room").mkdir()
        (root / "include/whywait/room/one.hpp").write_text("")
        (root / "include/whywait/room/two.hpp").write_text("")
        good = "| `real.hpp` | x |\n## The files\n### room\n| `one.hpp` | x |\n| `two.hpp` | x |\n"
        if check_map(root, good):
            return [f"found something wrong in a complete map: {check_map(root, good)}"]
        broken = [good.replace("two", "ten"), good.replace("| `two.hpp` | x |\n", ""), good + "| `one.hpp` | x |\n",
                  good.replace("`two.hpp` | x", "`two.hpp` | "), good.replace("real", "unreal")]
        return [f"found nothing wrong in the map: {text}" for text in broken if not check_map(root, text)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", type=pathlib.Path, default=tools.ROOT)
    options = options.parse_args()
    failures, pages = check(options.root.resolve())
    tools.end(self_test() + failures + check_contents(options.root.resolve()), f"{len(pages)} documents")


main()
