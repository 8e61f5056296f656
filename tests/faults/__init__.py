"""The fault campaigns of page 80 (FLT): the product is killed, starved or given damaged files, many times over.

Each run writes what its clients did into one history (`history.py`), and one checker (`checker.py`) reads the history and
the store that was left. How large a campaign is stands in `specs/faults.toml`; how one records its figures is
`campaign.py`. Bugs that are planted on purpose (`plants.py`) show that the campaigns bite. Single small cases of trouble
with the disk belong to `tests/store/`.
"""
