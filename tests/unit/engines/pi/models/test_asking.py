from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place

from pi_subagents.core.engine_values import Model
from pi_subagents.core.value import replace
from pi_subagents.engines.pi import asking
from pi_subagents.engines.pi.models.available import ask_models
from pi_subagents.engines.pi.versions import traits_of
from pi_subagents.errors import ModelsUnknown

if TYPE_CHECKING:
    from pathlib import Path

MODELS = (Model("acme", "big", "Big One"), Model("acme", "small"))


@pytest.fixture
def place(tmp_path: Path) -> ModelsPlace:
    return make_models_place(tmp_path)


def failure(place: ModelsPlace) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(ModelsUnknown) as error:
        ask_models(place.setup())
    return error.value.reason, error.value.output


def test_the_answer_is_found_among_what_else_pi_says(place: ModelsPlace) -> None:
    assert ask_models(place.setup()) == MODELS


@pytest.mark.parametrize(("trusted", "option"), [(True, "--approve"), (False, "--no-approve")])
def test_pi_is_asked_with_the_trust_options_and_directory_of_the_child(
    place: ModelsPlace, trusted: bool, option: str
) -> None:
    ask_models(place.setup("--extension", "x.ts", trusted=trusted))
    (start,) = place.starts()
    assert start["argv"] == ["--mode", "rpc", "--no-session", option, "--extension", "x.ts"]
    assert start["cwd"] == str(place.project)


def test_pi_gets_the_environment_of_a_child_and_stays_off_the_network(place: ModelsPlace) -> None:
    ask_models(place.setup(ACME_KEY="k", PI_SUBAGENTS_RUN="a run that calls us"))
    (start,) = place.starts()
    shown = {name: value for name, value in start["env"].items() if name != "LC_CTYPE"}
    assert shown == {
        **place.env,
        "ACME_KEY": "k",
        "PI_SUBAGENTS_CHILD": "1",
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    }


def test_a_pi_without_models_is_an_answer(place: ModelsPlace) -> None:
    place.has()
    assert ask_models(place.setup()) == ()


@pytest.mark.parametrize(
    ("version", "heard"),
    [
        ("", ("plain/model",)),
        ("0.87.1", ("plain/model",)),
        ("1.4.0", ("plain/model",)),
        ("1.5.0", ("llama.cpp/localhost:8080/qwen", "plain/model")),
    ],
)
def test_a_model_whose_provider_has_slashes_is_told_where_a_command_line_can_name_it(
    place: ModelsPlace, version: str, heard: tuple[str, ...]
) -> None:
    place.has(("llama.cpp/localhost:8080", "qwen", ""), ("plain", "model", ""))
    models = ask_models(replace(place.setup(), traits=traits_of(version)))
    assert tuple(model.reference for model in models) == heard


@pytest.mark.parametrize(
    ("behaviour", "reason", "output"),
    [
        ("fails", "it exited with code 3", ("Error: extension is broken", "Hint: fix it")),
        ("dies", "it was ended by signal 9", ()),
        ("refuses", "not now", ()),
        ("strange", "its answer has an unknown form", ()),
    ],
)
def test_a_pi_that_does_not_tell_is_told_of_with_its_own_words(
    place: ModelsPlace, behaviour: str, reason: str, output: tuple[str, ...]
) -> None:
    place.behave(behaviour)
    assert failure(place) == (reason, output)


def test_the_message_ends_with_what_pi_wrote(place: ModelsPlace) -> None:
    place.behave("fails")
    with pytest.raises(ModelsUnknown) as error:
        ask_models(place.setup())
    assert str(error.value) == (
        "pi did not say which models it has: it exited with code 3. `subagents doctor` looks "
        "closer.\n  Error: extension is broken\n  Hint: fix it"
    )


def test_output_without_end_is_given_up(
    place: ModelsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MAX_OUTPUT_BYTES", 2 * 1024 * 1024)
    monkeypatch.setattr(asking, "END_GRACE_S", 0.1)
    place.behave("floods")
    assert failure(place) == ("it wrote more than 2 MiB", ())


@pytest.mark.parametrize("broken", ["no directory", "a null byte"])
def test_a_pi_that_cannot_be_started_is_told_of(place: ModelsPlace, broken: str) -> None:
    setup = place.setup("a\0b")
    if broken == "no directory":
        setup = replace(place.setup(), cwd=place.root / "missing")
    with pytest.raises(ModelsUnknown):
        ask_models(setup)
    assert place.starts() == []


class JumpingClock:
    """A clock that jumps by an hour as soon as a pipe has something to read."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._heard = b""

    def monotonic(self) -> float:
        if not self._heard:
            with suppress(BlockingIOError):
                self._heard = os.read(self._pipe, 100)
        return time.monotonic() + (3600 if self._heard else 0)


def rest_of(pipe: int) -> bytes:
    """Return what is left in a pipe; this would wait for ever for a process that holds it open."""
    os.set_blocking(pipe, True)
    with os.fdopen(pipe, "rb") as stream:
        return stream.read()


def test_a_pi_that_hangs_is_ended_with_its_children(
    place: ModelsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = place.open_alive()
    monkeypatch.setattr(asking, "time", JumpingClock(pipe))
    monkeypatch.setattr(asking, "END_GRACE_S", 0.1)
    place.behave("hangs")
    assert failure(place) == ("it gave no answer within 20 s", ("still thinking",))
    assert rest_of(pipe) == b""


def test_a_pi_that_ended_is_told_of_as_such_though_its_child_holds_its_errors_open(
    place: ModelsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = place.open_alive()
    monkeypatch.setattr(asking, "END_GRACE_S", 0.1)
    place.behave("abandons")
    assert failure(place) == ("it exited with code 1", ("no models here",))
    assert rest_of(pipe) == b"started"


@pytest.mark.parametrize("behaviour", ["lingers", "leaves"])
def test_nothing_stays_after_the_answer(
    place: ModelsPlace, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    pipe = place.open_alive()
    if behaviour == "lingers":
        monkeypatch.setattr(asking, "END_GRACE_S", 0.1)
    place.behave(behaviour)
    assert ask_models(place.setup()) == MODELS
    assert rest_of(pipe) == b"started"


def test_an_interruption_ends_pi_too(place: ModelsPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = place.open_alive()

    class Interrupted(JumpingClock):
        def monotonic(self) -> float:
            now = super().monotonic()
            if self._heard:
                raise KeyboardInterrupt
            return now

    monkeypatch.setattr(asking, "time", Interrupted(pipe))
    monkeypatch.setattr(asking, "END_GRACE_S", 0.1)
    place.behave("hangs")
    with pytest.raises(KeyboardInterrupt):
        ask_models(place.setup())
    assert rest_of(pipe) == b""


KILLED = """
import sys
from pathlib import Path
from tests.fakes.fake_pi_models import ModelsPlace
from pi_subagents.engines.pi.models.available import ask_models
ask_models(ModelsPlace(Path(sys.argv[1])).setup())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children of the dead")
def test_pi_does_not_outlive_whoever_asked_it(place: ModelsPlace) -> None:
    pipe = place.open_alive()
    os.set_blocking(pipe, True)
    place.behave("waits")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(place.root)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    ) as asker:
        os.close(os.open(place.root / "pi/alive", os.O_RDONLY))  # waits until pi holds the pipe
        assert os.read(pipe, 7) == b"started"
        asker.kill()
    assert rest_of(pipe) == b""
