"""The store's files are this user's alone, and no link is followed (attack cases 24, 56, 61)."""

from __future__ import annotations

import pytest

from relaybay.errors import StoreReadOnly
from relaybay.store.database import Store


def opened(path):
    store = Store(path, lambda: 1_800_000_000_000_000)
    store.write(lambda tx: tx.emit("test.event"))
    modes = [file.stat().st_mode & 0o777 for file in (path, path.with_name(path.name + "-wal"))]
    store.close()
    return modes


def test_what_stood_open_to_others_is_shut(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    path = folder / "relaybay.db"
    assert opened(path) == [0o600, 0o600]
    path.chmod(0o666)
    assert opened(path) == [0o600, 0o600]
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["relaybay.db", "relaybay.db-wal"])
def test_no_symbolic_link_is_followed(tmp_path, name):
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir(mode=0o700)
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(StoreReadOnly):
        opened(folder / "relaybay.db")
    assert not elsewhere.exists()


def test_a_folder_in_the_databases_place_is_refused_by_name(tmp_path):
    (tmp_path / "relaybay.db").mkdir()
    with pytest.raises(StoreReadOnly):
        opened(tmp_path / "relaybay.db")
