"""Reads the reports of whywait (WHYWAIT_OUTPUT=prefix writes prefix.json): tables, comparison, a picture.

    import whywait

    run = whywait.load("run.json")
    print(run, run.waiting_share, run.efficiency["parallel"])
    for row in run.waits():
        print(row["seconds"], row["pattern"], row["operation"], row["cause"])
    run.table("causes")                          # a pandas.DataFrame if pandas is installed, else a list of dicts
    whywait.plot(run).save("run.svg")            # shown by itself in a notebook
    whywait.compare("before.json", "after.json")["outcome"]

Only the standard library is needed. All times are in seconds; waits are rank time, summed over ranks, as in the report.
"""
from .picture import Picture, plot
from .run import Error, Run, load, table
from .comparison import compare

__all__ = ["Error", "Picture", "Run", "compare", "load", "plot", "table"]
__version__ = "0.2.0"
