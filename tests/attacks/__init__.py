"""The attacks that a local server must bear, each named by its number in `CASES.toml`, against the program as it runs.

A refused attack leaves every row of the database as it was. What is tried on a part alone stands with that part's
tests, and `CASES.toml` says where.
"""
