#!/usr/bin/env python3
"""Comments and messages of include/ and the documents are plain technical English: no wording of the list below.

    language.py [--root FOLDER]
"""
import argparse
import pathlib
import re
import tempfile

import tools

# What must not be written, a sentence that has it, and what to write instead. Text in backquotes and code is not examined.
FORBIDDEN = [
    (r"\b(?:nobody|somebody|anybody|everybody|whoever)\b", "Nobody waits.", "no rank, a thread, any caller"),
    (r"\bwho\b", "Who comes must queue.", "the object that sends, stores or owns: which rank, threads that"),
    (r"\bknows\b|\blearns\b|\bhears\b|\bheard\b", "The rank knows its peers.", "records, measures, reads, has"),
    (r"(?-i:\bsays\b)(?!, why)", "The report says so.", "states, reports, prints"),
    (r"\b(?:is|are|was|were|been|being) told\b(?! (?:from|apart))", "The owner is told.", "receives, is notified"),
    (r"\bin vain\b", "It polls in vain.", "fails, without result"),
    (r"\bwish(?:es|ed)?\b", "A wish of the caller.", "request"),
    (r"\bcomplain\w*", "It complains about the file.", "warns"),
    (r"\b(?:anew|once more|beforehand)\b", "It begins anew.", "again, before"),
    (r"\btoo(?=[.,;:!?)]|$)", "The others wait, too.", "also, before the verb"),
    (r"\b(?:come|comes|came|coming) to (?:its|their|an) end\b", "The run comes to its end.", "ends"),
    (r"\bhad ended\b", "After the call had ended.", "after the end of"),
    (r"(?<!\bthere )\b(?:is|are) no waits?\b", "A transfer is no wait.", "is not a wait"),
    (r"\bof which the same\b|\bwhat is concerned\b", "What is concerned was left out.", "name the object"),
    (r"\bso many\b", "So many ranks wait.", "this number of"),
    (r"\bgives? more than\b", "Give more than 64M.", "increase"),
]
FINE = ["Ranks 0 and 1 wait too long.", "It cannot be told from work.", "A cost is told apart.", "`who` names the threads of a piece.",
        "There is no wait without data.", "nobody_ns counts delays.", "*sees, says, why*", "Too many calls."]
COMMENT = re.compile(r"^((?:[^\"/]|\"(?:[^\"\\]|\\.)*\"|/(?!/))*)//+<?(.*)$")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def of_header(text):
    """(line, text) of each block of comments and of each literal with a blank."""
    block, first = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        match = COMMENT.match(line)
        alone = match and not match.group(1).strip()
        if not alone and block:
            yield first, "\n".join(block)
            block = []
        if alone:
            first = first if block else number
            block.append(match.group(2))
        elif match:
            yield number, match.group(2)
        code = match.group(1) if match else line
        for literal in TEXT.findall("" if code.lstrip().startswith("#") else code):
            if " " in literal:
                yield number, literal


def of_document(text):
    """(line, text) of each paragraph outside of code."""
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^(?:    |\t).*$|<!--.*?-->", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
    number = 1
    for paragraph in text.split("\n\n"):
        yield number, paragraph
        number += paragraph.count("\n") + 2


def wrong_in(text):
    """(lines before it, words, what to write) of each finding."""
    plain = re.sub(r"`[^`]*`", lambda m: re.sub(r"[^\n]", "_", m.group(0)), text)
    for pattern, _, instead in FORBIDDEN:
        for match in re.finditer(pattern, plain.rstrip(), re.I):
            yield plain.count("\n", 0, match.start()), match.group(0), instead


def check(root):
    failures, files = [], 0
    for path in sorted([*root.glob("include/**/*.hpp"), *root.glob("include/**/*.md"), *root.glob("docs/**/*.md")]):
        files += 1
        text = path.read_text(encoding="utf-8")
        for line, part in of_header(text) if path.suffix == ".hpp" else of_document(text):
            failures += [f"{path.relative_to(root)}:{line + below}: '{words}': write {instead}" for below, words, instead in wrong_in(part)]
    return failures, files


def self_test():
    """Each wording is found in a comment, in a message and in a document, with its line; what is fine is not."""
    failures = [f"found nothing wrong: {bad}" for _, bad, _ in FORBIDDEN if not list(wrong_in(bad))]
    failures += [f"found {list(wrong_in(good))} in: {good}" for good in FINE if list(wrong_in(good))]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "include").mkdir()
        (root / "docs").mkdir()
        (root / "include/a.hpp").write_text('int nobody;  // a number\n/// One line\n/// that nobody reads.\n#include "no body"\n'
                                            'f("http://x nobody waits");  // nobody\n')
        (root / "docs/a.md").write_text("# A\n\nOne line\nthat nobody reads.\n\n```\nnobody\n```\n\n    nobody\n")
        found = [failure.split(": '")[0] for failure in check(root)[0]]
        wanted = ["docs/a.md:4", "include/a.hpp:3", "include/a.hpp:5", "include/a.hpp:5"]
        failures += [f"found {found} instead of {wanted}"] if found != wanted else []
    return failures


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--root", type=pathlib.Path, default=tools.ROOT)
    failures, files = check(options.parse_args().root.resolve())
    tools.end(self_test() + failures, f"{files} files")


main()
