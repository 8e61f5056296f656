"""Stories that a person can read and the program can be held to.

A `.txt` file here is a transcript: a line that says what happens, dashes, and the whole answer as the real services gave
it. `pytest --rewrite-scenarios` writes the answers anew; the difference is then read like any other change.
"""
