from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.store.tails import TranscriptTail


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "transcript.log"
    tail = TranscriptTail(path)
    assert tail.new_lines() == []
    path.write_text("one\ntwo\nhal")
    assert tail.new_lines() == ["one", "two"]
    assert tail.new_lines() == []
    with path.open("a") as file:
        file.write("f\n\nend\n")
    assert tail.new_lines() == ["half", "", "end"]
    with path.open("a") as file:
        file.write("\n")
    assert tail.new_lines() == [""]
    assert tail.new_lines() == []
    assert tail.skipped is False


def test_the_heading_is_left_to_whoever_shows_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "transcript.log"
    path.write_text("# a (name) (run 00ff)\n# a (name) (run 00ff)\n")
    tail = TranscriptTail(path)
    assert tail.new_lines() == ["# a (name) (run 00ff)"], "only the first line is one"
    with path.open("a") as file:
        file.write("# more (run 00ff)\n")
    assert tail.new_lines() == ["# more (run 00ff)"]


def test_of_much_only_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "transcript.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(100)))
    tail = TranscriptTail(path, max_new_bytes=20)
    assert tail.new_lines() == ["line 98", "line 99"]
    assert tail.skipped is True
    with path.open("a") as file:
        file.write("x" * 50 + "\nlast\n")
    assert tail.new_lines() == ["last"]


def test_a_line_without_an_end_is_not_kept_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "transcript.log"
    path.write_text("x" * 15)
    tail = TranscriptTail(path, max_new_bytes=20)
    assert tail.new_lines() == []
    with path.open("a") as file:
        file.write("y" * 15)
    assert tail.new_lines() == ["x" * 15 + "y" * 15]


def test_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("no\n")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    assert TranscriptTail(tmp_path / "link").new_lines() == []
    assert TranscriptTail(tmp_path).new_lines() == []


@given(st.lists(texts, max_size=6))
@thoroughly
def test_whatever_is_in_it_lines_are_printable(said: list[str]) -> None:

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "t"
        path.write_bytes("".join(f"{each}\n" for each in said).encode("utf-8", "surrogatepass"))
        for line in TranscriptTail(path).new_lines():
            assert not set(line) & {"\n", "\t", "\x1b", "\0", "\u202e", "\udfff"}
