"""What a script hands in: its label, its text byte by byte, and how long a publication may be."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word_refusal
from relaybay.domain import Refusal
from relaybay.rules.script_text import (
    BODY_BYTES_MAX,
    LABEL_BYTES_MAX,
    LABEL_DEFAULT,
    STDIN_ROOM_BYTES,
    check_label,
    from_stdin,
    publication_body,
)


def code(found: object) -> str:
    assert isinstance(found, Refusal), found
    return word_refusal(found).code


# -- label ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("NAME-6", "CLI-17")
@pytest.mark.parametrize(
    "label",
    [
        LABEL_DEFAULT,
        "x",
        "nightly build #12",
        "@ci-watcher",
        'say "hi" \\o/ <b> & more',
        "Größe 見る",
        "👩‍💻 deploy",
        "x" * 256,
        "ü" * 128,
    ],
)
def test_labels_that_can_be_seen_whole(label: str) -> None:
    assert check_label(label) is None


@pytest.mark.spec("NAME-6", "CLI-17")
@pytest.mark.parametrize(
    "label",
    [
        "", " ", "\u3000 ", "\u200b", "\u3164", "x" * 257, "ü" * 128 + "x", "a\nb", "a\tb", "a\x1b[31mb", "a\x07", "\x00", "a\u0085b",
        "a\u2028b", "a\u202eb", "a\u2066b", "a\u200fb", "a\u061cb", "a\u200db", "a\ufeffb", "a\u00adb", "\ue000", "\ud800", "\U000e0041",
    ],
)  # fmt: skip
def test_labels_that_hide_something_or_show_nothing(label: str) -> None:
    refused = check_label(label)
    assert code(refused) == "label_invalid"
    said = word_refusal(refused).text
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for char in said)
    assert str(LABEL_BYTES_MAX) in said


# -- standard input ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("CLI-12")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a", "a"), (b"a\n", "a"), (b"a\r\n", "a"), (b"a\n\n", "a\n"), (b"a\r\n\r\n", "a\r\n"), (b"a\r", "a\r"), (b"a\n\r", "a\n\r"),
        (b"\n\n", "\n"), (b" \n", " "), ("ü\n".encode(), "ü"), (b"a\nb", "a\nb"),
    ],
)  # fmt: skip
def test_exactly_one_line_ending_goes(data: bytes, text: str) -> None:
    assert from_stdin(data) == text


@pytest.mark.spec("CLI-15")
@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n"])
def test_nothing_left_is_no_text(data: bytes) -> None:
    assert code(from_stdin(data)) == "body_empty"


@pytest.mark.spec("CLI-16")
@pytest.mark.parametrize(
    ("data", "at"), [(b"ab\xff", 3), (b"\xc3\n", 1), (b"\xed\xa0\x80", 1), ("ü".encode("utf-16"), 1)]
)
def test_bytes_that_are_no_utf8_are_refused_and_say_from_where(data: bytes, at: int) -> None:
    refused = from_stdin(data)
    assert code(refused) == "body_not_utf8"
    assert f"byte {at} " in word_refusal(refused).text


@pytest.mark.spec("CLI-14", "CLI-16")
@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_the_limit_is_for_the_text_and_not_for_its_line_ending(ending: bytes) -> None:
    assert from_stdin(b"x" * BODY_BYTES_MAX + ending) == "x" * BODY_BYTES_MAX
    assert code(from_stdin(b"x" * (BODY_BYTES_MAX + 1) + ending)) == "body_too_long"


@pytest.mark.spec("CLI-14")
@given(st.text(alphabet="a\r\nü", max_size=14))
def test_what_is_read_of_an_endless_pipe_tells_whether_the_whole_would_fit(text: str) -> None:
    whole, most = text.encode(), 8
    read = from_stdin(whole[: most + STDIN_ROOM_BYTES], most)
    without = text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
    if len(without.encode()) > most:
        assert code(read) == "body_too_long"
    elif without:
        assert read == without
    else:
        assert code(read) == "body_empty"


# -- publications -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("CH-4", "TEXT-1")
def test_a_publication_is_measured_in_bytes_after_its_line_breaks_are_one_kind() -> None:
    assert publication_body("ü" * (BODY_BYTES_MAX // 2)) == "ü" * (BODY_BYTES_MAX // 2)
    assert code(publication_body("ü" * (BODY_BYTES_MAX // 2) + "x")) == "body_too_long"
    assert publication_body("\r\n" * (BODY_BYTES_MAX - 1) + "x") == "\n" * (BODY_BYTES_MAX - 1) + "x"
    # One separator of three bytes becomes a line feed of one.
    assert publication_body("a\u2028b", 3) == "a\nb"
    refused = publication_body("abcd", 3)
    assert "4 bytes" in word_refusal(refused).text and "3" in word_refusal(refused).text


@pytest.mark.spec("PUB-1", "SEND-9", "CLI-15")
def test_a_session_may_not_publish_a_blank_text_and_a_script_only_no_empty_one() -> None:
    for text in (" ", "\n", "\u200b"):
        assert code(publication_body(text)) == "body_blank"
        assert publication_body(text, by_script=True) == text
    assert code(publication_body("")) == "body_blank"
    assert code(publication_body("", by_script=True)) == "body_empty"


@pytest.mark.spec("SEND-15")
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800"])
@pytest.mark.parametrize("by_script", [False, True])
def test_what_is_no_text_is_not_published(text: str, by_script: bool) -> None:
    assert code(publication_body(text, by_script=by_script)) == "body_not_text"


@pytest.mark.spec("CH-4")
@given(st.text(max_size=40), st.integers(1, 60))
def test_what_is_stored_fits_and_is_stored_the_same_again(text: str, most: int) -> None:
    body = publication_body(text, most, by_script=True)
    if isinstance(body, str):
        assert 1 <= len(body.encode()) <= most
        assert publication_body(body, most, by_script=True) == body
