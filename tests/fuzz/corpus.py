#!/usr/bin/env python3
"""Packs and unpacks the corpus of a fuzz target: one text file instead of one file for each input.

    corpus.py unpack FILE.corpus FOLDER            one file for each entry, for libFuzzer
    corpus.py pack FOLDER FILE.corpus              the reverse; comments and entries of FILE.corpus stay, new inputs follow
    corpus.py pack --replace FOLDER FILE.corpus    only the inputs of FOLDER stay (after libFuzzer's -merge=1)
    corpus.py replay FILE.corpus [OPTIONS] -- PROGRAM    runs a fuzz target on every entry, then with OPTIONS (-runs=1000)

Format: each line is a comment (#) or one input in double quotes. Bytes outside of printable ASCII and the characters
\\ and " are written as \\n, \\t, \\\\, \\" or \\xHH.
"""
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

NAMED = {ord("\n"): "\\n", ord("\t"): "\\t", ord("\\"): "\\\\", ord('"'): '\\"'}
VALUE = {text: byte for byte, text in NAMED.items()}
PIECE = re.compile(r'\\x[0-9a-f]{2}|\\[nt\\"]|[ !#-\[\]-~]')


def encode(data):
    return '"' + "".join(NAMED.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + '"'


def decode(line):
    """Bytes of one line; None if it is no entry."""
    pieces = PIECE.findall(line[1:-1])
    if len(line) < 2 or line[0] != '"' or line[-1] != '"' or "".join(pieces) != line[1:-1]:
        return None
    return bytes(VALUE[p] if p in VALUE else int(p[2:], 16) if len(p) == 4 else ord(p) for p in pieces)


def read(path):
    entries = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        if line.startswith("#"):
            continue
        entry = decode(line)
        if entry is None:
            sys.exit(f"{path}:{number}: expected a comment or one input in double quotes")
        entries.append(entry)
    return entries


def unpack(path, folder):
    entries = read(path)
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        (folder / hashlib.sha1(entry).hexdigest()).write_bytes(entry)
    return len(entries)


def pack(folder, path, replace):
    comments, entries = [], []
    if path.exists():
        comments = [line for line in path.read_text(encoding="ascii").splitlines() if line.startswith("#")]
        entries = read(path)
    inputs = [file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()]
    kept = [entry for entry in entries if entry in set(inputs)] if replace else entries
    known = set(kept)
    added = sorted(set(inputs) - known, key=lambda data: (len(data), data))
    path.write_text("".join(f"{line}\n" for line in comments + [encode(data) for data in kept + added]), encoding="ascii")
    print(f"{path}: {len(kept) + len(added)} entries, {len(added)} of them new")


def replay(path, program, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "corpus"
        count = unpack(path, folder)
        # the entries themselves first: what libFuzzer changes them into depends on their order
        commands = [[*program, "-runs=0", str(folder)]]
        if options:
            commands.append([*program, *options, str(folder)])
        for command in commands:
            result = subprocess.run(command, cwd=name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if result.returncode != 0:
                sys.stdout.write(result.stdout.decode("utf-8", "replace"))
                for crash in sorted(pathlib.Path(name).iterdir()):
                    if crash.is_file():
                        print(f"{crash.name}: {encode(crash.read_bytes())}")
                print(f"{' '.join(command)} ended with {result.returncode}")
                return 1
        print(f"{count} entries of {path.name}")
        return 0 if count else 1


def main():
    words = sys.argv[1:]
    replace = "--replace" in words
    if replace:
        words.remove("--replace")
    if len(words) == 3 and words[0] == "unpack":
        print(f"{unpack(pathlib.Path(words[1]), pathlib.Path(words[2]))} entries")
    elif len(words) == 3 and words[0] == "pack":
        pack(pathlib.Path(words[1]), pathlib.Path(words[2]), replace)
    elif len(words) >= 3 and words[0] == "replay" and "--" in words:
        split = words.index("--")
        return replay(pathlib.Path(words[1]), words[split + 1:], words[2:split])
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
