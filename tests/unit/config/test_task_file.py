from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, thoroughly

from pi_subagents.config.task_file import read_task_file
from pi_subagents.core.task.request import DelegateRequest, Task, parse_delegate
from pi_subagents.errors import RequestError, TaskFileUnusable

HERE = Path("/somewhere/tasks.json")
YAML = Path("/somewhere/tasks.yaml")


def test_json_and_yaml_say_the_same() -> None:
    in_json = {
        "profile": "worker",
        "tasks": [
            {"name": "a", "prompt": "Do\nit.", "timeout": 30, "files": [{"path": "x", "head": 2}]}
        ],
    }
    in_yaml = """
profile: worker
tasks:
  - name: a
    prompt: |-
      Do
      it.
    timeout: 30
    files:
      - {path: x, head: 2}
"""
    assert read_task_file(HERE, json.dumps(in_json).encode()) == in_json
    assert read_task_file(YAML, in_yaml.encode()) == in_json
    assert read_task_file(YAML.with_suffix(".YML"), b"\xef\xbb\xbf" + in_yaml.encode()) == in_json


def test_a_bare_list_is_a_list_of_tasks() -> None:
    assert parse_delegate(
        read_task_file(HERE, b'[{"name": "a", "prompt": "b"}]')
    ) == DelegateRequest((Task("a", "b"),))


@pytest.mark.parametrize(
    ("given_cwd", "meant"),
    [("/srv", "/srv"), (".", "/somewhere"), ("app", "/somewhere/app"), ("../x", "/x")],
)
def test_a_relative_directory_is_meant_from_the_files_place(given_cwd: str, meant: str) -> None:
    data = json.dumps([{"name": "a", "prompt": "b", "cwd": given_cwd}]).encode()
    assert read_task_file(HERE, data) == {"tasks": [{"name": "a", "prompt": "b", "cwd": meant}]}


@pytest.mark.parametrize(
    ("path", "data", "problem"),
    [
        (HERE, b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (HERE, b'{"a": 1, "a": 2}', '"a" is set twice'),
        (HERE, b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (HERE, b"[" * 100_000, "maximum recursion depth exceeded"),
        (HERE, b" " * (32 * 1024 * 1024 + 1), "is larger than 32768 KiB"),
        (YAML, b"a: 1\na: 2", '"a" is set twice'),
        (
            YAML,
            b"a: &x [1]\nb: *x",
            "line 1: anchors, aliases and merge keys are not accepted here",
        ),
        (YAML, b"? [a]\n: b", "unhashable type"),
        (YAML, b"a: b: c", "mapping values are not allowed here"),
        (YAML, b"a: !!python/object:os.system x", "line 1: YAML tags are not accepted here"),
        (YAML, b"a: 1\nprompt: !!bool foo", "line 2: YAML tags are not accepted here"),
        (YAML, b"a: !!timestamp foo", "line 1: YAML tags are not accepted here"),
        (YAML, b"a: !!map {}", "line 1: YAML tags are not accepted here"),
        (YAML, b"- ! x", "line 1: YAML tags are not accepted here"),
        (YAML, b"a: 1" + b":00" * 250 + b".0", "int too large to convert to float"),
        (YAML, b"#" * (1024 * 1024 + 1), "is larger than 1024 KiB"),
        (YAML, b"[" * 5000, "maximum recursion depth exceeded"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    path: Path, data: bytes, problem: str
) -> None:
    with pytest.raises(TaskFileUnusable) as refusal:
        read_task_file(path, data)
    assert refusal.value.path == str(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert problem in refusal.value.problem


@thoroughly
@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_tasks_or_refused(data: bytes) -> None:
    for path in (HERE, YAML):
        with suppress(RequestError):
            assert isinstance(parse_delegate(read_task_file(path, data)), DelegateRequest)
