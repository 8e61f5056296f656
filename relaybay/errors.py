"""The exception tree: programmer errors and broken surroundings only; an expected no is a value (`domain.Refusal`).

RelaybayError
├── SpecError            a table in specs/ is malformed: the program does not start
├── SettingsError        configuration that cannot be read; carries file and line (exit 78)
└── StoreError
    ├── StoreLocked      another server has the data folder (exit 75)
    ├── StoreFull        no space left (HTTP 507, exit 74)
    ├── StoreReadOnly    the folder or file cannot be written (exit 74)
    ├── StoreDamaged     the file is not the one that gave the promises (exit 74)
    ├── StoreNewer       the schema is newer than the program (exit 78)
    └── StoreUnavailable closing, or an I/O error after which nothing more is promised (HTTP 503)
        └── SearchDamaged the index of full-text search alone, which is made anew
"""

from __future__ import annotations


class RelaybayError(Exception):
    """Root of the tree."""


class SpecError(RelaybayError):
    """A table in `specs/` does not hold what its page promises."""


class SettingsError(RelaybayError):
    """Configuration that cannot be read. `where` is `file:line`, or the variable's name."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where = where
        self.why = why


class StoreError(RelaybayError):
    """The store cannot do what was asked; nothing of it was done."""


class StoreLocked(StoreError):  # noqa: N818 - the names say the condition, as the exit codes do.
    """Another server has this data folder."""


class StoreFull(StoreError):  # noqa: N818
    """No space left on the device."""


class StoreReadOnly(StoreError):  # noqa: N818
    """The data folder or the database file cannot be written."""


class StoreDamaged(StoreError):  # noqa: N818
    """The database has not what was acknowledged from it: it, or its log, is cut, lost or another's; or a call met
    values in it that nothing can have written.
    """


class StoreNewer(StoreError):  # noqa: N818
    """The database was written by a newer program."""


class StoreUnavailable(StoreError):  # noqa: N818
    """The store is closing or has failed; nothing more is promised."""


class SearchDamaged(StoreUnavailable):
    """The index of full-text search cannot be used. It follows from the texts and is made anew; all else is sound."""
