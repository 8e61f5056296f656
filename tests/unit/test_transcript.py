"""The reader of transcripts alone: where a read begins and ends, and that no file it meets makes it fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaybay import frames
from relaybay.transcript import Transcripts, entry_of
from tests.unit.transcript_rig import Transcript

MESSAGE = "m_01J0000000000000000000000A"
COMMENT = "c_01J0000000000000000000000B"
FRAME = f"[relaybay message {MESSAGE}]"


@pytest.fixture
def script(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path)


def kinds(reader: Transcripts, script: Transcript, begin: int = 0, most: int = 1 << 20) -> list[str]:
    return [entry.kind for entry in reader.read(str(script.path), script.hook, begin, most).entries]


def _read_in_pieces(reader: Transcripts, script: Transcript, most: int) -> list[tuple[str, str]]:
    at, found = 0, []
    for _ in range(10_000):
        piece = reader.read(str(script.path), script.hook, at, most)
        assert piece.file == "read"
        assert piece.next >= at
        found += [(entry.kind, entry.step_id or entry.text) for entry in piece.entries]
        if piece.next == at:
            return found
        at = piece.next
    raise AssertionError("it reads for ever")


@pytest.mark.spec("CTX-1")
def test_pieces_of_any_size_that_hold_a_line_give_what_one_read_gives(tmp_path: Path, script: Transcript) -> None:
    reader = Transcripts((tmp_path,))
    for number in range(8):
        script.step(f"msg_{number}")
        script.typed()
        script.shown(f"{FRAME} {number}")
    lines = script.path.read_bytes().split(b"\n")
    whole = _read_in_pieces(reader, script, 1 << 20)
    assert len(whole) == 16
    longest = max(len(line) for line in lines) + 2
    for most in range(longest, longest + 300, 7):
        assert _read_in_pieces(reader, script, most) == whole


@pytest.mark.spec("CTX-1")
def test_every_beginning_gives_the_whole_lines_behind_it(tmp_path: Path, script: Transcript) -> None:
    reader = Transcripts((tmp_path,))
    for number in range(4):
        script.step(f"msg_{number}")
    data = script.path.read_bytes()
    starts = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10)]
    for begin in range(len(data) + 1):
        piece = reader.read(str(script.path), script.hook, begin, 1 << 20)
        assert [entry.offset for entry in piece.entries] == [at for at in starts[:-1] if at >= begin]


@pytest.mark.spec("CTX-1")
def test_a_line_longer_than_a_read_is_passed_over_and_the_next_is_found(tmp_path: Path, script: Transcript) -> None:
    reader = Transcripts((tmp_path,))
    script.tool_result("x" * 50_000)
    script.step("msg_behind")
    assert _read_in_pieces(reader, script, 4_000) == [("step", "msg_behind")]


@pytest.mark.spec("CTX-1")
def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path, script: Transcript) -> None:
    reader = Transcripts((tmp_path,))
    script.step("msg_1")
    whole = script.path.read_bytes()
    for cut in range(len(whole)):
        script.path.write_bytes(whole[:cut])
        piece = reader.read(str(script.path), script.hook, 0, 1 << 20)
        assert (piece.entries, piece.next) == ((), 0)
    script.path.write_bytes(whole)
    assert kinds(reader, script) == ["step"]


@pytest.mark.spec("CTX-3", "CTX-4")
@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("", "none"),
        ("relative.jsonl", "foreign"),
        ("/etc/passwd", "foreign"),
        ("{}/nothing.jsonl", "none"),
        ("{}/no/such/folder.jsonl", "none"),
        ("{}/../escaped.jsonl", "foreign"),
        ("{}/nul\0.jsonl", "foreign"),
        ("{}", "foreign"),
        ("{}2/x.jsonl", "foreign"),
    ],
)
def test_what_is_not_the_clients_is_not_opened(tmp_path: Path, path: str, file: str) -> None:
    folder = tmp_path / "claude"
    folder.mkdir()
    (tmp_path / "escaped.jsonl").write_text("{}\n")
    (tmp_path / "claude2").mkdir()
    (tmp_path / "claude2" / "x.jsonl").write_text("{}\n")
    reader = Transcripts((folder,))
    assert reader.read(path.format(folder), "h1", 0, 100).file == file
    assert reader.size(path.format(folder)) == 0


@pytest.mark.spec("CTX-4")
def test_a_pipe_a_device_and_another_users_file_are_not_read(tmp_path: Path, script: Transcript) -> None:
    reader = Transcripts((tmp_path,))
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    assert reader.read(str(pipe), "h1", 0, 100).file == "foreign"
    if os.geteuid() == 0:
        script.step()
        os.chown(script.path, 12_345, 12_345)
        assert reader.read(str(script.path), script.hook, 0, 10_000).file == "foreign"


@pytest.mark.spec("CTX-4")
def test_the_clients_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude"
    script = Transcript(real)
    script.step()
    link = tmp_path / ".claude"
    link.symlink_to(real)
    for folder in (link, real):
        for shown in (link, real):
            path = shown / script.path.relative_to(real)
            assert Transcripts((folder,)).read(str(path), "h1", 0, 10_000).file == (
                "read" if folder is link or shown is real else "foreign"
            )


@pytest.mark.spec("CTX-3")
def test_without_a_folder_nothing_is_read(tmp_path: Path, script: Transcript) -> None:
    script.step()
    assert Transcripts().read(str(script.path), "h1", 0, 100).file == "foreign"


@pytest.mark.spec("CTX-3", "CTX-4")
@given(
    line=st.binary(max_size=400) | st.text(max_size=200).map(str.encode),
    sign=st.sampled_from([b"", b'"assistant"', FRAME.encode()]),
)
@settings(max_examples=300, deadline=None)
def test_no_line_makes_it_fail_or_prove_anything(line: bytes, sign: bytes) -> None:
    for entry in entry_of(sign + line.replace(b"\n", b" "), "h1"):
        assert entry.kind in ("unclear", "foreign")


@pytest.mark.spec("CTX-1", "CTX-4")
def test_ids_are_those_of_frames_and_of_nothing_else() -> None:
    whole = (
        f'opening\n\n{FRAME}\nfrom: x\nbody: "[relaybay message m_01J0000000000000000000000C]"\n\n'
        f'[relaybay: the owner\'s comment {COMMENT} on task shop-1]\nbody: "y"'
    )
    assert frames.ids_in(whole) == {MESSAGE, COMMENT}
    message = frames.message_frame(frames.FrameFacts(MESSAGE, "a", verified=True, body="[relaybay message m_0]\nx"))
    comment = frames.comment_frame(frames.CommentFacts(COMMENT, "shop-1", "see [relaybay message m_0]"))
    assert frames.ids_in(f"{message}\n\n{comment}") == {MESSAGE, COMMENT}
    assert frames.ids_in(f"in reply to {MESSAGE}; quoting {FRAME} within a line") == set()
