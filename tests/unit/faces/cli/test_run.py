"""What `subagents run` refuses before anything starts, with a pi on PATH that knows its models."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place

from pi_subagents.engines.pi.profile.providers import KEY_NAMES
from pi_subagents.errors import NoModelConfigured
from pi_subagents.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = (
    "PI_AGENT_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_SUBAGENTS_CHILD",
    "PI_SUBAGENTS_PI",
    "XDG_DATA_HOME",
    *KEY_NAMES,
)


@dataclass
class Caller:
    """Somebody in a project who has that pi on the PATH and nothing configured."""

    place: ModelsPlace
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["run", *arguments])
        return (end.value.code, *self.capsys.readouterr())

    def asked(self) -> int:
        """Return how often pi was asked for its models; it must not have been started else."""
        questions = [each["argv"][:2] == ["--mode", "rpc"] for each in self.place.starts()]
        assert all(questions)
        return len(questions)


@pytest.fixture
def caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Caller:
    place = make_models_place(tmp_path.resolve())
    place.has()
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", place.env["HOME"])
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(place.data_dir))
    monkeypatch.setenv("PATH", f"{place.program.parent}{os.pathsep}{os.defpath}")
    monkeypatch.chdir(place.project)
    return Caller(place, capsys)


NO_MODEL = (
    "Error: No model is configured.\n"
    "Log in: subagents pi, then /login. Or set the variable of your provider's key, such as "
    "ANTHROPIC_API_KEY.\n"
    "To try it without a model: --offline.\n"
)


@pytest.mark.parametrize("arguments", [(), ("--model", "big"), ("--background",), ("-q",)])
def test_without_any_model_nothing_is_started(caller: Caller, arguments: tuple[str, ...]) -> None:
    assert caller.run("hello", *arguments) == (2, "", NO_MODEL)
    assert caller.asked() in (1, 2)
    assert not (caller.place.project / ".pi").exists()


def test_a_script_reads_the_same_as_json(caller: Caller) -> None:
    code, out, err = caller.run("hello", "--json")
    assert (code, json.loads(out)["content"], err) == (
        2, [{"type": "text", "text": str(NoModelConfigured())}], ""
    )  # fmt: skip


@pytest.mark.parametrize("how", ["a key", "a login", "a provider", "a command", "no answer"])
def test_whoever_may_have_a_model_is_not_refused(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """That its runs fail here is another matter: this pi knows one question only."""
    agent_dir = caller.place.agent_dir
    if how == "a key":
        monkeypatch.setenv("OPENAI_API_KEY", "k")
    elif how == "a login":
        (agent_dir / "auth.json").write_text('{"anthropic": {"type": "oauth"}}')
    elif how == "a provider":
        (agent_dir / "models.json").write_text('{"providers": {"acme": {"baseUrl": "x"}}}')
    elif how == "a command":
        monkeypatch.setenv("PI_SUBAGENTS_PI", str(caller.place.program))
    else:
        caller.place.behave("fails")
    code, _, err = caller.run("hello")
    assert (code, "No model is configured" in err) == (1, False)


def test_a_model_that_there_is_not_is_refused_with_the_nearest(caller: Caller) -> None:
    caller.place.has(("acme", "big", "Big One"), ("acme", "small", ""))
    assert caller.run("hello", "--model", "acme/bog") == (
        2,
        "",
        (
            'Error: Model "acme/bog" is not available (sub-agents can use 2 models here). '
            "Did you mean acme/big? `subagents models` lists them.\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("one", " "), "Error: Prompt 2 is empty."),
        (("one", "--thinking", "hard"), "Error: Invalid value for '--thinking': 'hard' is not one"),
        (("--tools", "read", "--task-file"), "Error: --task-file says what to run; leave out --to"),
        (
            ("one", "--timeout", "0"),
            "Error: Invalid value for '--timeout': 0.0 is not in the range",
        ),
        (("one", "--timeout", "soon"), "Error: Invalid value for '--timeout': 'soon' is not a num"),
        (("one", "--max-tokens", "-5"), "Error: Invalid value for '--max-tokens': `tokens` must b"),
        (("one", "--name", "a", "--name", "b"), "Error: 2 names for 1 prompt."),
        (("one", "--tools", "+read"), 'Error: tools: "+read" is not the name of a tool.'),
    ],
)
def test_what_cannot_be_meant_is_refused(
    caller: Caller, arguments: tuple[str, ...], refusal: str
) -> None:
    if arguments[-1] == "--task-file":
        (caller.place.project / "tasks.json").write_text("[]")
        arguments += ("tasks.json",)
    code, out, err = caller.run(*arguments, "--offline")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(refusal)
    assert caller.asked() == 0
