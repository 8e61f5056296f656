"""Filters that the owner keeps under a name, by the page that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class SavedView:
    """One of them."""

    id: int
    page: str
    name: str
    query: str


_SELECT = "SELECT id, page, name, query FROM saved_view"


def of_page(tx: Tx, page: str) -> list[SavedView]:
    """A page's filters, the oldest first."""
    return [SavedView(*row) for row in tx.rows(f"{_SELECT} WHERE page = ? ORDER BY id", page)]


def every(tx: Tx) -> list[SavedView]:
    """The filters of all pages, the oldest first."""
    return [SavedView(*row) for row in tx.rows(f"{_SELECT} ORDER BY id")]


def get(tx: Tx, key: int) -> SavedView | None:
    """One by its key."""
    found = tx.row(f"{_SELECT} WHERE id = ?", key)
    return None if found is None else SavedView(*found)


def put(tx: Tx, page: str, name: str, query: str) -> int:
    """Keeps a filter; under a name that the page has already it takes the other's place. Its key."""
    for one in of_page(tx, page):
        if one.name == name:
            tx.update("saved_view", one.id, query=query)
            return one.id
    return tx.insert("saved_view", page=page, name=name, query=query, created_us=tx.now)


def remove(tx: Tx, key: int) -> None:
    """Forgets one."""
    tx.run("DELETE FROM saved_view WHERE id = ?", key)
