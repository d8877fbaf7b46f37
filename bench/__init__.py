"""The benchmark: what is run (workloads), who runs it (contenders), one runner, one report.

`weft bench W1` starts one process per contender, each pinned to one core and one thread, has all of them
answer the same question about the same data, compares the answers, and only then takes turns measuring.

A new workload is a file in `workloads/` and a line in its registry, a new contender the same in `peers/`.
Neither knows of the other: a workload makes a `JoinCase` (joins.py), a contender answers one.
"""
