"""Benchmarks: one module per PERF id, named `perf_NN_what.py`, each with `run(full) -> list[Figure]` (`figures.py`).

A figure is measured beside its floor, in the same run and on the same machine: the least that the same work costs
without relaybay. What is reported is a table with the machine named, never a timed unit test. `make bench` runs all of
them; `make bench ARGS="perf_01 perf_05 --full"` some, for as long as their page says.
"""
