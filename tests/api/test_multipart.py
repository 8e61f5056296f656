"""Forms with files: what browsers send is read whole, and what is not such a form from end to end is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.api.multipart import Part, read_parts

TYPE = "multipart/form-data; boundary=edge"
FIELD = b'Content-Disposition: form-data; name="csrf"\r\n\r\ntoken'
FILE = b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nHello\r\n'


def form(*parts: bytes, end: bytes = b"--\r\n") -> bytes:
    return b"".join(b"--edge\r\n" + part + b"\r\n" for part in parts) + b"--edge" + end


def test_fields_and_files_are_read_in_their_order() -> None:
    assert read_parts(TYPE, form(FIELD, FILE)) == [
        Part("csrf", None, "", b"token"),
        Part("file", "a.txt", "text/plain", b"Hello\r\n"),
    ]
    assert read_parts('Multipart/Form-Data; Boundary="edge"', form(FIELD, end=b"--")) == [
        Part("csrf", None, "", b"token")
    ]


@given(content=st.binary(max_size=300), name=st.text(st.characters(blacklist_characters='\r\n\\\0"'), min_size=1))
def test_any_content_and_name_comes_through(content: bytes, name: str) -> None:
    try:
        quoted = name.encode("utf-8")
    except UnicodeEncodeError:
        return
    head = b'Content-Disposition: form-data; name="file"; filename="' + quoted + b'"\r\n\r\n'
    read = read_parts(TYPE, form(head + content))
    if b"\r\n--edge" in b"\r\n" + content or "%22" in name or "%0D%0A" in name:
        return
    assert read is not None and read[0].content == content
    assert read[0].filename == name


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", form(FIELD)),
        ("multipart/form-data; boundary=", form(FIELD)),
        (f"multipart/form-data; boundary={'e' * 71}", form(FIELD)),
        (TYPE, b""),
        (TYPE, b"before\r\n" + form(FIELD)),
        (TYPE, form(FIELD, end=b"")),
        (TYPE, form(FIELD, end=b"--x")),
        (TYPE, form(FIELD)[:-20]),
        (TYPE, form(b'Content-Disposition: form-data; name="a"')),
        (TYPE, form(b'Content-Disposition: attachment; name="a"\r\n\r\nx')),
        (TYPE, form(b"Content-Disposition: form-data\r\n\r\nx")),
        (TYPE, form(b'Content-Disposition: form-data; name="a"\r\nno colon\r\n\r\nx')),
        (TYPE, form(FIELD.replace(b"\r\n\r\n", b"\r\nContent-Disposition: form-data; name=b\r\n\r\n"))),
        (TYPE, form(b'Content-Disposition: form-data; name="\xff"\r\n\r\nx')),
        (TYPE, form(b'Content-Disposition: form-data; name="a"\r\n\r\n\xff')),
        (TYPE, form(b'Content-Disposition: form-data; name="a"\r\nX: ' + b"x" * 4096 + b"\r\n\r\nx")),
        (TYPE, form(*[FIELD] * 21)),
        (TYPE, b"--edge" + FIELD + b"\r\n--edge--"),
    ],
)
def test_what_is_no_such_form_has_no_parts(kind: str, body: bytes) -> None:
    assert read_parts(kind, body) is None


def test_the_bounds_themselves_are_taken() -> None:
    assert len(read_parts(TYPE, form(*[FIELD] * 20)) or []) == 20
    edge = "e" * 70
    body = form(FIELD).replace(b"edge", edge.encode())
    assert read_parts(f"multipart/form-data; boundary={edge}", body) is not None
