#!/usr/bin/env python3
"""Checks that each function of an MPI library that can block or communicate has a wrapper.

    functions.py LIBRARY PROGRAM

LIBRARY is the MPI library that PROGRAM, which contains the observer, was linked with. A function that PROGRAM does not define
must be in the list below: it is local and does not block."""
import re
import subprocess
import sys

LOCAL = re.compile("|".join((
    r"(Type|Group|Info|Op|Errhandler|T|Status|Message|Keyval|Attr|Graphdims|Cartdim|Topo|Grequest|Add_error|Aint)_\w+",
    r"\w+_(c2f|f2c|F90|FN|NULL|errhandler|keyval|attr)|Comm_(compare|group|remote_group|rank|size|remote_size)",
    r"(Comm|Win|File|Session)_get_(info|parent|amode|atomicity|byte_offset|group|name|position|type_extent|type_extent_c|view|nth_pset"
    r"|num_psets|pset_info|errhandler)",
    r"(Comm|Win|File|Session)_(create|set|call)_errhandler|(Comm|Win|File)_set_(name|attr|errhandler)|Comm_test_inter",
    r"Cart_(coords|get|map|rank|shift)|Graph_(get|map|neighbors|neighbors_count)|Dist_graph_neighbors(_count)?|Dims_create",
    r"Get_(address|count|count_c|elements|elements_c|elements_x|library_version|processor_name|version)",
    r"Address|Alloc_mem|Free_mem|Buffer_attach(_c)?|CONVERSION_FN_NULL|Error_(class|string)|Finalized|Initialized",
    r"Is_thread_main|Query_thread|Pcontrol|Wtime|Wtick|Register_datarep(_c)?|Test_cancelled|Reduce_local(_c)?",
    r"(Un)?[Pp]ack(_external)?(_size)?(_c)?|Pack_(external_)?size(_c)?|Unpack_external_c",
    r"Win_(attach|detach|shared_query|shared_query_c)")))


def symbols(path, kinds, *options):
    lines = subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True).stdout
    return set(re.findall(rf" [{kinds}] (P?MPI_\w+)$", lines, re.MULTILINE))


def main():
    library, program = sys.argv[1:]
    exported = symbols(library, "TWV", "-D")
    functions = {name[4:] for name in exported if name.startswith("MPI_") and "P" + name in exported}
    wrapped = {name[4:] for name in symbols(program, "TWV") if name.startswith("MPI_")}
    missing = sorted(name for name in functions - wrapped if not LOCAL.fullmatch(name))
    listed = sorted(name for name in functions & wrapped if LOCAL.fullmatch(name))
    print(f"{library}: {len(functions)} functions, {len(functions & wrapped)} with a wrapper")
    if len(functions) < 200:
        sys.exit("this is no MPI library")
    if missing:
        sys.exit("neither explained nor counted: " + " ".join("MPI_" + name for name in missing))
    if listed:
        sys.exit("with a wrapper although listed as local: " + " ".join("MPI_" + name for name in listed))


main()
