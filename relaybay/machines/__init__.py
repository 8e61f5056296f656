"""One file per machine: a python-statemachine class with states and transitions, and its literal of rows.

Belongs here: what a thing may do next, as values. Does not: clocks, stores, words, callbacks, effects carried out.
"""
