from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.path_text import shorten_path, shorten_paths_in_text

CWD, HOME = "/data/ann/project", "/data/ann"
paths = st.text("/a.~ \\'\"", max_size=20) | st.lists(
    st.sampled_from(["data", "ann", "project", "src", "..", "", "~"]), max_size=5
).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/data/ann/project/src/a.py", "src/a.py"),
        ("/data/ann/project/src/", "src/"),
        ("/data/ann/project", "."),
        ("/data/ann/project/", "./"),
        ("/data/ann/project2/a", "~/project2/a"),
        ("/data/ann/notes.txt", "~/notes.txt"),
        ("/data/ann", "~"),
        ("/data/anna/x", "/data/anna/x"),
        ("/data", "/data"),
        ("/", "/"),
        ("/etc/hosts", "/etc/hosts"),
        ("src/a.py", "src/a.py"),
        ("~/a", "~/a"),
        ("", ""),
        # Where a link may lead is not known: these are not touched.
        ("/data/ann/project/../x", "/data/ann/project/../x"),
        ("/data/ann/project//x", "/data/ann/project//x"),
        ("//data/ann/x", "//data/ann/x"),
    ],
)
def test_a_path_is_shown_as_short_as_it_can_be_written(path: str, shown: str) -> None:
    assert shorten_path(path, CWD, HOME) == shown


def test_a_neighbour_is_reached_by_dots_where_that_is_shorter() -> None:
    assert shorten_path("/srv/app/lib/x", "/srv/app/web", "/root") == "../lib/x"
    assert shorten_path("/srv/app", "/srv/app/web", "/root") == ".."
    assert shorten_path("/opt/x", "/srv/app/web", "/root") == "/opt/x"


@pytest.mark.parametrize("cwd", ["/", ""])
@pytest.mark.parametrize("home", ["/", ""])
def test_the_root_directory_shortens_nothing(cwd: str, home: str) -> None:
    assert [shorten_path(path, cwd, home) for path in ("/", "/etc", "/a/b")] == [
        "/",
        "/etc",
        "/a/b",
    ]


def test_a_slash_at_the_end_of_a_directory_makes_no_difference() -> None:
    assert shorten_path("/w/p/a", "/w/p/", "/r/") == "a"
    assert shorten_path("/r/a", "/w/p/", "/r/") == "~/a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cat /data/ann/project/a.txt /etc/hosts", "cat a.txt /etc/hosts"),
        ("ls /data/ann/project", "ls ."),
        ("ls '/data/ann/project/my dir'", "ls 'my dir'"),
        ("rm /data/ann/project/*.pyc", "rm *.pyc"),
        ("PATH=/data/ann/bin:/data/ann/project/bin x", "PATH=~/bin:bin x"),
        ("(cd /data/ann/x;ls)", "(cd ~/x;ls)"),
        ("cc -I/data/ann/project/inc a/data/ann", "cc -I/data/ann/project/inc a/data/ann"),
        ("curl https://data/ann/project", "curl https://data/ann/project"),
        ("cat /data/ann/project\\ two/x", "cat ~/project\\ two/x"),
        ("no path at all", "no path at all"),
        ("", ""),
    ],
)
def test_absolute_paths_inside_a_text_are_shortened(text: str, shown: str) -> None:
    assert shorten_paths_in_text(text, CWD, HOME) == shown


@thoroughly
@given(paths)
def test_shortening_never_lengthens_and_is_done_once(path: str) -> None:
    short = shorten_path(path, CWD, HOME)
    assert len(short) <= len(path)
    assert shorten_path(short, CWD, HOME) == short


@thoroughly
@given(
    st.lists(st.sampled_from(["data", "ann", "project", "src", "x y"]), min_size=1).map("/".join)
)
def test_a_shortened_path_leads_to_the_same_place(tail: str) -> None:
    path = f"/{tail}"
    short = shorten_path(path, CWD, HOME)
    if short == "~" or short.startswith("~/"):
        parts = (HOME + short[1:]).split("/")
    else:
        parts = (short if short.startswith("/") else f"{CWD}/{short}").split("/")
    reached: list[str] = []
    for part in parts:
        if part == "..":
            reached.pop()
        elif part not in ("", "."):
            reached.append(part)
    assert "/" + "/".join(reached) == path
