"""Numbered migrations, forward only: `STEPS[n]` takes a database from schema n to n + 1.

Each step is a tuple of statements that SQLite and PostgreSQL both understand, once the dialect's words for keys, large
numbers and searched texts are put in (`{key}`, `{big}`, `{search_text}`). `SEALED` is the schema from which on texts
have seals: what is older gets them in the same transaction (`seals.fill`). A step that anybody can have gone through is
never changed: a file is held against what its steps made. Belongs here: DDL and the moving of rows.
Does not: imports from the model, which is always the newest.
"""

from __future__ import annotations

from relaybay.store.migrations.m0001 import STATEMENTS as M0001
from relaybay.store.migrations.m0002 import STATEMENTS as M0002
from relaybay.store.migrations.m0003 import STATEMENTS as M0003
from relaybay.store.migrations.m0004 import STATEMENTS as M0004
from relaybay.store.migrations.m0005 import STATEMENTS as M0005
from relaybay.store.migrations.m0006 import STATEMENTS as M0006

STEPS: tuple[tuple[str, ...], ...] = (M0001, M0002, M0003, M0004, M0005, M0006)
SEALED = 2
