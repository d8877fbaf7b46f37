"""The benchmark on Spark: one session a run, every contender a query in it, fed in turns with the same rows.

A workload is measured in a process of its own (worker.py), which starts the session, draws the stream, gives
each contender its batches (lanes.py) and compares what came out with DuckDB (oracle.py).
"""
