"""Bounded exhaustive exploration: every reachable state of a few sessions and items over the pure machines and rules.

Belongs here: worlds made of values, the search, the slices and planted bugs. Does not: anything with a store or a clock.
"""
