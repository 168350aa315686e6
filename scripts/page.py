#!/usr/bin/env python3
"""Writes include/whywait/report/page/page_template.hpp from page.html, page.css and page.js beside it.

    scripts/page.py             writes the header
    scripts/page.py --check     compares only and never writes; exit code 1 if it is not current

Comments and indentation are left out. The script element is named in the page's content security policy by its hash, so
that a browser runs this script and no other. Each string literal stays below the limits of compilers.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "include" / "whywait" / "report" / "page"
HEADER = FOLDER / "page_template.hpp"
MOST_COLUMNS, MOST_PIECE = 118, 8000


def small_css(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?([{};,]) ?", r"\1", text)
    text = re.sub(r"(?<=[\w)-]): ", ":", text)
    return text.replace(";}", "}").strip().replace("}", "}\n")


def small_js(text):
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def literal(text):
    """One line of C++ that stands for `text`."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?" if "??" in text else "?")
    return f'"{out}"'


def pieces(text):
    """Lists of literals, each list one piece."""
    all_, current, size = [], [], 0
    while text:
        cut = text[:MOST_COLUMNS]
        while len(literal(cut)) > MOST_COLUMNS:
            cut = cut[:-1]
        text = text[len(cut):]
        if size + len(cut) > MOST_PIECE:
            all_.append(current)
            current, size = [], 0
        current.append(literal(cut))
        size += len(cut)
    return all_ + [current] if current else all_


def header():
    css = small_css((FOLDER / "page.css").read_text(encoding="utf-8"))
    js = small_js((FOLDER / "page.js").read_text(encoding="utf-8"))
    html = (FOLDER / "page.html").read_text(encoding="utf-8")
    # the element contains the text between its tags, with the line break after the first of them
    hash_ = base64.b64encode(hashlib.sha256(("\n" + js).encode()).digest()).decode()
    html = html.replace("{{hash}}", f"'sha256-{hash_}'").replace("{{style}}\n", css).replace("{{script}}\n", js)
    begin, rest = html.split("{{title}}")
    style, rest = rest.split("{{main}}\n")
    data, script = rest.split("{{data}}\n")
    out = ["#ifndef WHYWAIT_REPORT_PAGE_PAGE_TEMPLATE_HPP", "#define WHYWAIT_REPORT_PAGE_PAGE_TEMPLATE_HPP", "",
           "// Written by scripts/page.py from page.html, page.css and page.js in this folder. Edit those.", "",
           "namespace whywait {", "inline namespace v0 {", "namespace reports {", "namespace page_template {", "",
           "// clang-format off"]
    for name, text in (("begin", begin), ("style", style), ("data", data), ("script", script)):
        out.append(f"inline constexpr const char* {name}[] = {{")
        for piece in pieces(text):
            out += ["    " + line for line in piece]
            out[-1] += ","
        out.append("};")
    out += ["// clang-format on", "", "}  // namespace page_template", "}  // namespace reports", "}  // namespace v0",
            "}  // namespace whywait", "", "#endif", ""]
    return "\n".join(out)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    text = header()
    if not options.check:
        HEADER.write_text(text, encoding="utf-8")
        print(f"{HEADER.name}: {len(text)} bytes")
        return 0
    if not HEADER.exists() or HEADER.read_text(encoding="utf-8") != text:
        print(f"{HEADER.relative_to(FOLDER.parents[3])} is not current: run scripts/page.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
