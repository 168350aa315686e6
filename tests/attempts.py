"""Repeats a test that measures time while other programs, or the host of a virtual machine, take the processors."""
import os
import resource
import time

DISTURBED = 0.05  # of all processor time, taken by others during an attempt


def _sample():
    """Seconds: now, processor time of the machine with stolen time, and processor time of this process and its children."""
    user, nice, system, _, _, irq, softirq, steal = (int(x) for x in open("/proc/stat").readline().split()[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = sum(sum(resource.getrusage(of)[:2]) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return time.monotonic(), busy, own


def attempts(tries, pause=0, calm=None, interrupted=None):
    """The numbers 1, 2, ... of attempts: `tries` of them, and up to three times as many if others disturb them.

    The caller leaves the loop when an attempt succeeds, and the last failure counts. `pause`: seconds to wait after the first
    disturbed attempt, twice as many after the second, and so on. `calm`: a list to which True is added after each attempt that
    failed undisturbed. `interrupted`: says after an attempt whether the caller saw that it was disturbed; the host of a virtual
    machine does not always count what it takes.
    """
    undisturbed = 0
    for number in range(1, 3 * tries + 1):
        before = _sample()
        yield number
        seconds, busy, own = (b - a for a, b in zip(before, _sample()))
        share = (busy - own) / (seconds * os.cpu_count())
        seen = interrupted is not None and interrupted()
        if share > DISTURBED or seen:
            what = "its stamps show interruptions, and " if seen else ""
            print(f"attempt {number}: {what}other programs took {100 * share:.0f} % of the processors", flush=True)
            if number < 3 * tries:
                time.sleep(pause * (number - undisturbed))
            continue
        undisturbed += 1
        if calm is not None:
            calm.append(True)
        if undisturbed == tries:
            return
