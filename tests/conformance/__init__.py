"""Holds `specs/` and the code against each other, both ways, and runs every row."""
