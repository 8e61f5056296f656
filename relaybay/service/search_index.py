"""What full-text search keeps beside the texts is looked after here: made anew where it is missing or damaged.

It follows from the tasks and comments, so nothing is lost with it. At the start a quick look tells whether it is there
at all (after an upgrade it is empty); later a timer holds it against the texts.
"""

from __future__ import annotations

import logging

from relaybay.errors import StoreUnavailable
from relaybay.store import search, sqlite
from relaybay.store.database import Store

log = logging.getLogger(__name__)


def complete(store: Store) -> bool:
    """Makes the index where a text is missing in it, or it cannot be read; whether that was done."""
    try:
        if store.read(search.complete):
            return False
    except StoreUnavailable as error:
        log.warning("the search index cannot be read and is made anew: %s", error)
    store.write(search.rebuild)
    return True


def mend(store: Store) -> bool:
    """Holds the index against the texts, off the writer's thread, and makes it anew when it differs; whether it did."""
    found = sqlite.search_damage(store.path) or ("" if store.read(search.faithful) else "it differs from the texts")
    if not found:
        return False
    log.warning("the search index is made anew: %s", found)
    store.write(search.rebuild)
    return True
