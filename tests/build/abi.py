#!/usr/bin/env python3
"""Files compiled with and without WHYWAIT_DISABLE that exchange whywait's types fail to link, with a clear message.

    abi.py compiler [options ...]
"""
import pathlib
import tempfile

import tools

HERE = pathlib.Path(__file__).resolve().parent / "abi"


def main():
    compiler, options = tools.arguments()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        flags = [*tools.WARNINGS, "-std=c++17", *options, f"-I{tools.ROOT / 'include'}", "-c"]
        for source in ("giver", "taker"):
            for state, switch in (("on", []), ("off", ["-DWHYWAIT_DISABLE"])):
                code, _, messages = tools.run([compiler, *flags, *switch, str(HERE / f"{source}.cpp"), "-o",
                                               str(directory / f"{source}_{state}.o")])
                if code != 0:
                    tools.end([f"{source}.cpp {state}: {messages}"], "")
        for giver in ("on", "off"):
            for taker in ("on", "off"):
                code, _, messages = tools.run([compiler, str(directory / f"giver_{giver}.o"),
                                               str(directory / f"taker_{taker}.o"), "-o", str(directory / "program"),
                                               "-pthread", "-ldl"])
                title = f"giver {giver}, taker {taker}"
                if giver == taker and code != 0:
                    failures.append(f"{title}: must link: {messages}")
                if giver != taker and code == 0:
                    failures.append(f"{title}: must not link")
                # the linker prints the missing symbol with whywait::v0::region or whywait::v0_off::region
                wanted = f"whywait::{'v0' if giver == 'on' else 'v0_off'}::region"
                if giver != taker and code != 0 and wanted not in messages:
                    failures.append(f"{title}: the message does not name {wanted}: {messages}")
    tools.end(failures, f"mixing on and off fails at link time with {compiler}")


main()
