"""Generated names, `calm-proud-otter` (page 10; page 50, NAME): derived from the row, so there is nothing to save.

The same row gets the same name after every restart; a further attempt gives the next one when a name is taken.
"""

from __future__ import annotations

from hashlib import sha256

ATTEMPTS_MAX = 32

_ADJECTIVES = (
    "agile", "amber", "ample", "apt", "azure", "bold", "brave", "brief", "bright", "brisk", "calm", "candid",
    "clear", "clever", "cosy", "crisp", "dapper", "deft", "eager", "early", "earnest", "even", "fair", "fleet",
    "fond", "frank", "fresh", "gentle", "glad", "golden", "grand", "happy", "hardy", "honest", "humble",
    "jolly", "keen", "kind", "lively", "loyal", "lucid", "mellow", "merry", "mild", "modest", "neat", "nimble",
    "noble", "patient", "plain", "plucky", "polite", "prompt", "proud", "quick", "quiet", "ready", "rosy",
    "sage", "silver", "smart", "snug", "sober", "sound", "spry", "steady", "sunny", "swift", "tidy", "tranquil",
    "trusty", "upbeat", "vivid", "warm", "wise", "witty", "young",
)  # fmt: skip
_NOUNS = (
    "acorn", "alder", "anchor", "badger", "beacon", "beaver", "birch", "bison", "brook", "canyon", "cedar",
    "clover", "comet", "condor", "coral", "crane", "cricket", "dolphin", "ember", "falcon", "fern", "finch",
    "fjord", "forest", "fox", "garnet", "gecko", "glacier", "harbor", "hawk", "hazel", "heron", "ibex", "iris",
    "jasper", "juniper", "kestrel", "lantern", "lark", "lemur", "lilac", "lynx", "maple", "marten", "meadow",
    "mink", "mole", "moose", "nutmeg", "oriole", "otter", "owl", "panda", "pebble", "pine", "plover", "poppy",
    "quail", "quartz", "raven", "reef", "robin", "sable", "salmon", "sequoia", "sparrow", "spruce", "stork",
    "swan", "thistle", "thrush", "toucan", "trout", "tulip", "walnut", "willow", "wren", "yarrow",
)  # fmt: skip


def generated(row_id: int, attempt: int) -> str:
    """The name of a row at an attempt from 0 to `ATTEMPTS_MAX` - 1: two different adjectives and a noun, hyphenated."""
    digest = sha256(f"relaybay generated name {row_id} {attempt}".encode()).digest()
    first = int.from_bytes(digest[:4], "big") % len(_ADJECTIVES)
    second = int.from_bytes(digest[4:8], "big") % len(_ADJECTIVES)
    if second == first:
        second = (second + 1) % len(_ADJECTIVES)
    noun = _NOUNS[int.from_bytes(digest[8:12], "big") % len(_NOUNS)]
    return f"{_ADJECTIVES[first]}-{_ADJECTIVES[second]}-{noun}"
