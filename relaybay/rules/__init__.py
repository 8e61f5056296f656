"""Decisions as functions of values: facts in, a Verdict out. Each function is held against its table in `specs/`.

Belongs here: who may speak, who is meant, what fits. Does not: reading or writing anything, words, time.
"""
