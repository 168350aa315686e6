#!/usr/bin/env python3
"""Writes docs/reference/mpi.md: every MPI function, from the table of calls in include/whywait/core/mpi_calls.hpp.

    scripts/mpi_reference.py            writes it
    scripts/mpi_reference.py --check    compares, and writes nothing; exit code 1

tests/mpi/functions.py compares the same lists with the functions of an MPI library."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/mpi.md"

# What each role of the table means for readers, in the order of the page.
ROLES = {
    "initialise": "begins the run. Waiting there for a rank that calls it late is no part of it; the report states it from 0.5 s and "
    "10 % of the run on",
    "finalise": "waits for all ranks and ends the run; of sessions the last one, in a program without MPI_Init",
    "send": "waits for the receiver, if MPI does not buffer the message",
    "receive": "waits for the sender",
    "exchange": "a send and a receive in one",
    "probe": "waits for the sender",
    "test_probe": "polls that follow each other wait for the sender",
    "post_send": "posts a send",
    "post_receive": "posts a receive",
    "prepare": "describes a persistent message",
    "start": "posts persistent messages, or a send and a receive with one request",
    "complete_all": "waits for all requests",
    "complete_any": "waits for one of the requests",
    "test": "polls that follow each other wait for the requests",
    "barrier": "all wait for all",
    "one_to_all": "waits for the root",
    "all_to_one": "the root waits for all",
    "all_to_all": "all wait for those whose data they need",
    "scan": "waits for all lower ranks",
    "fence": "all members of the window wait for all",
    "create": "makes a communicator or window: all members wait for all",
    "agree": "sets something for all members of a communicator or window: may wait for all members",
    "release": "frees a communicator or window: may wait for all members",
    "initiate": "initiates a collective, whose needs are those of the blocking one; the call that completes it waits",
    "epoch": "waits for the post, the completion, or the progress of the other side",
    "lock": "waits for the holder of the lock, or for the progress of the target",
    "transfer": "moves data of a window, or [polls](#counted-not-explained) a flag or mutex in it",
    "file_all": "of all that opened a file: where the library synchronises them, they wait for all; the rest is input and output",
    "file_in_turn": "the same, or waits for the lower ranks",
    "file": "input and output without other ranks; with a request, the call that completes it takes the time",
    "connect": "of all members of a communicator: they wait for all; the rest waits for another world, and is named so",
    "other_world": "waits for processes of another world, or for a name server, and is named so",
    "local": "recorded, no wait",
}

# Functions without a model, with the reason.
UNEXPLAINED = (
    ("sessions", "each process opens sessions when it likes; in a program without MPI_Init the recording begins later, with the "
     "first communicator of all processes, two or more", r"Session_init"),
)

# Functions without a wrapper: they synchronise no rank.
LOCAL = (
    ("objects of the process: types, groups, infos, operations, attributes, handlers of errors, statuses, tools",
     r"(Type|Group|Info|Op|Errhandler|T|Status|Message|Keyval|Attr|Graphdims|Cartdim|Topo|Grequest(?!_start)|Add_error|Aint)_\w+"
     r"|\w+_(c2f|f2c|F90|FN|NULL|errhandler|keyval|attr)|(Comm|Win|File|Session)_(create|set|call)_errhandler"
     r"|(Comm|Win|File)_set_(name|attr|errhandler)|Register_datarep(_c)?|CONVERSION_FN_NULL"),
    ("queries",
     r"Comm_(compare|group|remote_group|rank|size|remote_size|test_inter)"
     r"|(Comm|Win|File|Session)_get_(info|parent|amode|atomicity|byte_offset|group|name|position|type_extent|type_extent_c|view"
     r"|nth_pset|num_psets|pset_info|errhandler)"
     r"|Cart_(coords|get|map|rank|shift)|Graph_(get|map|neighbors|neighbors_count)|Dist_graph_neighbors(_count)?|Dims_create"
     r"|Get_(address|count|count_c|elements|elements_c|elements_x|library_version|processor_name|version)|Address"
     r"|Error_(class|string)|Finalized|Initialized|Is_thread_main|Query_thread|Test_cancelled|Win_shared_query(_c)?"),
    ("memory and packing", r"Alloc_mem|Free_mem|Buffer_attach(_c)?|Win_(attach|detach)|Reduce_local(_c)?"
     r"|(Un)?[Pp]ack(_external)?(_size)?(_c)?|Pack_(external_)?size(_c)?|Unpack_external_c"),
    ("time and control of tools", r"Wtime|Wtick"),
)


def is_local(name):
    return any(re.fullmatch(pattern, name) for _, pattern in LOCAL)


def reason_of(name):
    """The group and the reason of a function without a model; None if there is none."""
    return next((row[:2] for row in UNEXPLAINED if re.fullmatch(row[2], name)), None)


def read_table():
    """The explained functions with their roles, and the others that have a wrapper."""
    text = (ROOT / "include/whywait/core/mpi_calls.hpp").read_text(encoding="utf-8")

    def body(name):
        return re.search(r"#define " + name + r"\([^)]*\)(.*?[^\\])\n", text, re.DOTALL)[1]

    explained = {}
    for table in "CALLS", "INITIATIONS", "PERSISTENT_INITIATIONS", "FILE_CALLS", "WORLD_CALLS":
        for kind, name, role in re.findall(r"\b([A-Z])\((\w+), (\w+)\)", body("WHYWAIT_MPI_" + table)):
            explained[name] = "initiate" if table.endswith("INITIATIONS") else role
            if kind == "B":
                explained[name + "_c"] = explained[name]
    return explained, re.findall(r"\bX\((\w+)\)", body("WHYWAIT_MPI_UNEXPLAINED_CALLS"))


def in_words(names):
    return ", ".join(f"`MPI_{n}`" + (" (`_c`)" if n + "_c" in names else "") for n in names
                     if not (n.endswith("_c") and n[:-2] in names))


def page():
    explained, others = read_table()
    unknown = [n for n in others if reason_of(n) is None]
    roles = [r for r in explained.values() if r not in ROLES]
    if unknown or roles:
        sys.exit(f"scripts/mpi_reference.py gives no reason for {unknown}, no words for {roles}")
    lines = ["# MPI functions", "",
             "What whywait does with each function of MPI 4.0. Generated from the table of calls by `scripts/mpi_reference.py`;",
             "`tests/mpi/functions.py` compares it with the functions of the MPI library. `(_c)`: also the form with large counts.",
             "", "## Explained", "", "| functions | meaning |", "|---|---|"]
    for role, meaning in ROLES.items():
        names = [n for n, r in explained.items() if r == role]
        if names:
            lines.append(f"| {in_words(names)} | {meaning} |")
    lines += ["", "## Counted, not explained", "",
              "Their time is known, and [weakens what is drawn from the run](../method.md#413-time-that-is-not-understood).", "",
              "A flag or a mutex in a window is such a case: if one call of `MPI_Get`, `MPI_Compare_and_swap` or `MPI_Fetch_and_op` with "
              "`MPI_NO_OP` reads one element at the same place again, with nothing but `MPI_Win_flush*` in between, and finds the same "
              "value, then it polls. Which rank changes the value is not known.", "",
              "| | functions | why not |", "|---|---|---|"]
    for group, reason, _ in UNEXPLAINED:
        names = [n for n in others if reason_of(n)[0] == group]
        if names:
            lines.append(f"| {group} | {in_words(names)} | {reason} |")
    lines += ["", "## Without a wrapper", "", "They synchronise no rank: " + "; ".join(g for g, _ in LOCAL) + ".", ""]
    return "\n".join(lines)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE.relative_to(ROOT)} differs from the table of calls: run scripts/mpi_reference.py")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
