from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.hosts.pi import extension as pi_extension
from pi_subagents.hosts.pi.extension import (
    NamedPackages,
    extension_dir,
    named_packages,
    pi_settings_file,
    remember_interpreter,
)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "settings.json"


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_the_folder_is_a_package_of_pi_with_all_it_needs() -> None:
    manifest = json.loads((extension_dir() / "package.json").read_text())
    assert manifest["pi"] == {"extensions": ["./index.ts"], "prompts": ["./prompts/*.md"]}
    assert "dependencies" not in manifest
    there = {path.name for path in extension_dir().iterdir()}
    assert {"index.ts", "tools.json", "prompts"} <= there


def test_prompts_describe_follow_up_calls_and_no_chain() -> None:
    prompts = {path.stem: path.read_text() for path in (extension_dir() / "prompts").glob("*.md")}
    assert set(prompts) == {"inspect-and-plan", "implement-and-review", "parallel-review"}
    for text in prompts.values():
        assert "chain" not in text
        assert "`subagent`" in text
        assert text.startswith("---\ndescription: ")


def test_pi_itself_decides_where_its_settings_are(tmp_path: Path) -> None:
    env = {"HOME": "/h", "PI_AGENT_DIR": "/ours"}
    assert pi_settings_file(tmp_path, env, project=False) == Path("/h/.pi/agent/settings.json")
    moved = {**env, "PI_CODING_AGENT_DIR": "/moved"}
    assert pi_settings_file(tmp_path, moved, project=False) == Path("/moved/settings.json")
    assert pi_settings_file(tmp_path, env, project=True) == tmp_path / ".pi" / "settings.json"


def test_copies_of_the_extension_and_rivals_are_found_among_packages(settings: Path) -> None:
    written(
        settings,
        {
            "packages": [
                "npm:pi-subagents@1.2.3",
                {"source": "npm:@harms-haus/pi-subagents"},
                "npm:@someone/pi-subagents-like",
                "../venv/pi_subagents/pi_extension",
                "~/other/pi_subagents/pi_extension",
                "../else/pi_extension",
                7,
            ]
        },
    )
    assert named_packages(settings, {"HOME": "/h"}) == NamedPackages(
        settings,
        ours=(
            settings.parents[1] / "venv/pi_subagents/pi_extension",
            Path("/h/other/pi_subagents/pi_extension"),
        ),
        rivals=("npm:pi-subagents@1.2.3", "npm:@harms-haus/pi-subagents"),
    )


def test_settings_that_are_missing_name_nothing_and_broken_ones_say_why(settings: Path) -> None:
    assert named_packages(settings, {}) == NamedPackages(settings)
    written(settings, "{ // a comment\n}")
    found = named_packages(settings, {})
    assert (found.ours, found.rivals) == ((), ())
    assert found.problem.startswith("cannot be used: Expecting property name")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["packages", "source", "skills", "x"]), inner)
        ),
    )
)
def test_no_settings_make_it_raise(
    tmp_path_factory: pytest.TempPathFactory, content: object
) -> None:
    path = written(tmp_path_factory.mktemp("any") / "settings.json", content)
    assert named_packages(path, {"HOME": "/h"}).path == path


def test_the_interpreter_is_noted_once_and_folders_that_are_gone_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "data" / "pi-extension.json"
    env = {"PI_SUBAGENTS_DATA": str(note.parent)}
    other = tmp_path / "other"
    other.mkdir()
    pythons = {str(other): "/p", str(tmp_path / "gone"): "/q", str(tmp_path): 7}
    written(note, {"schemaVersion": 1, "pythons": pythons})
    remember_interpreter(env)
    wanted = {str(other): "/p", str(extension_dir()): sys.executable}
    assert json.loads(note.read_text()) == {"schemaVersion": 1, "pythons": wanted}
    assert note.stat().st_mode & 0o777 == 0o600

    def fail(*_: object) -> None:
        raise AssertionError("written again")

    monkeypatch.setattr(pi_extension, "replace_file", fail)
    remember_interpreter(env)


@pytest.mark.parametrize("content", ["", "[]", '{"pythons": []}', '{"pythons": {"a": 1}}'])
def test_a_note_of_any_shape_is_replaced(tmp_path: Path, content: str) -> None:
    note = written(tmp_path / "pi-extension.json", content)
    remember_interpreter({"PI_SUBAGENTS_DATA": str(tmp_path)})
    assert json.loads(note.read_text())["pythons"] == {str(extension_dir()): sys.executable}


def test_a_place_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember_interpreter({"PI_SUBAGENTS_DATA": str(tmp_path / "file" / "below")})
