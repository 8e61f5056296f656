"""The owner's board: read models of `service/views*.py` → templates, and forms → use cases.

Belongs here: routes of the board, templates, its own style and scripts, and the words for states in templates. Does
not: SQL, rules, checks of who may come in (`api/gate.py`), sentences of refusals (`answers.py`). Nothing is loaded from
another origin. Without scripts every page and form works; with them a page fetches whole fragments again when they
change.
"""
