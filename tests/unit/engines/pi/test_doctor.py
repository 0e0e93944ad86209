from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_fake_node, write_script
from tests.fakes.healthy_place import TABLE, agent_dir, with_env, write_pi, write_settings

from pi_subagents.engines.pi import doctor as pi
from pi_subagents.engines.pi.install.managed import install_managed_pi

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.check import Check
    from pi_subagents.system.home import CheckedPlace


def consulted(place: CheckedPlace) -> dict[str, Check]:
    with pi.Consultation(place) as consultation:
        checks = (
            pi.check_node(consultation, place),
            pi.check_pi(consultation, place),
            pi.check_models(consultation),
        )
    return {check.id: check for check in checks}


def test_the_pi_that_is_used_is_asked(place: CheckedPlace) -> None:
    path = write_pi(place)
    assert consulted(place)["pi"] == pi.PI.ok(
        f"1.5.0, from PATH: {path}", public="1.5.0, from PATH: pi"
    )


def test_a_configured_command_shows_its_program_and_files_only(place: CheckedPlace) -> None:
    script = place.cwd.parent / "cli.js"
    script.write_text("1.5.0\n")
    node = place.cwd.parent / "usr/bin/node"
    write_settings(
        place, {"subagents": {"pi_command": ["node", str(script), "--a", "b", "/no/file", "-c"]}}
    )
    with pi.Consultation(place) as consultation:
        assert pi.check_pi(consultation, place) == pi.PI.ok(
            f"1.5.0, from the setting subagents.pi_command: {node} {script} …",
            public="1.5.0, from the setting subagents.pi_command: node …",
        )


def test_an_older_managed_pi_is_a_problem_that_set_up_solves(place: CheckedPlace) -> None:
    root = place.cwd.parent
    (root / "usr/bin/pi").unlink()
    pi_of_set_up = install_managed_pi(
        place.env, data_dir=root / "data", report=lambda _: None, version="0.87.1", cwd=place.cwd
    )
    shown = " ".join(pi_of_set_up.argv)
    assert consulted(place)["pi"] == pi.PI.note(
        f"0.87.1, from `subagents setup`: {shown}; tested: 0.87.1 and 1.5.0",
        "To use pi 1.5.0: run `subagents setup`.",
        public="0.87.1, from `subagents setup`: node …",
    )


def test_a_pi_that_fails_cannot_be_delegated_to(place: CheckedPlace) -> None:
    path = write_pi(place, version="exit 7")
    assert consulted(place)["pi"] == pi.PI.fatal(
        f"from PATH: {path} failed when asked for its version (exit code 7)",
        "Run it by hand with --version to see why. Run `subagents setup`, which brings a Node of "
        "its own, or repair the pi on PATH.",
        public="from PATH: pi failed when asked (exit code 7)",
    )


def test_a_pi_that_cannot_be_executed_cannot_be_delegated_to(place: CheckedPlace) -> None:
    write_script(place.cwd.parent / "usr/bin/pi", "\x7fno program")
    found = consulted(place)
    assert found["pi"].state == "fatal"
    assert found["models"] == pi.MODELS.note("not known: pi does not run", "See the line about pi.")


def test_something_that_is_no_pi_is_a_problem(place: CheckedPlace) -> None:
    write_pi(place, version="echo hello")
    assert consulted(place)["pi"].state == "problem"


def test_no_pi_at_all_says_how_to_get_one(place: CheckedPlace) -> None:
    (place.cwd.parent / "usr/bin/pi").unlink()
    assert consulted(place)["pi"] == pi.PI.fatal("none found", pi.SETUP, public="none found")


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (
            f"printf '{TABLE}'",
            pi.MODELS.ok("3 of 2 providers (acme, other); not tried", public="3 of 2 providers"),
        ),
        (
            "echo 'No models available. Use /login'",
            pi.MODELS.problem(
                "none configured; only --offline works",
                "Set the API key variable of your provider (export ANTHROPIC_API_KEY=...), or "
                'start pi and type /login. README: "Use your own model".',
            ),
        ),
        ("echo what", pi.MODELS.note("not known: pi's list has an unknown form")),
        (
            "exit 3",
            pi.MODELS.problem(
                "pi did not list its models (exit code 3)",
                "Run pi by hand with --list-models to see why.",
            ),
        ),
    ],
)
def test_models_are_counted_and_nothing_more(
    place: CheckedPlace, models: str, expected: Check
) -> None:
    write_pi(place, models=models)
    assert consulted(place)["models"] == expected


@pytest.mark.parametrize(("trusted", "flag"), [(True, "--approve"), (False, "--no-approve")])
def test_pi_is_asked_as_a_child_would_be(place: CheckedPlace, *, trusted: bool, flag: str) -> None:
    (agent_dir(place) / "trust.json").write_text(json.dumps({str(place.cwd): trusted}))
    log = place.cwd.parent / "log"
    write_pi(place, models=f'echo "$* $PI_OFFLINE $PI_SUBAGENTS_CHILD-$PI_SUBAGENTS_RUN" > {log}')
    consulted(with_env(place, PI_SUBAGENTS_RUN="a" * 32))
    assert log.read_text() == f"{flag} --list-models 1 1-\n"


@pytest.mark.parametrize(
    ("version", "state", "found"),
    [
        ("24.19.0", "ok", "24.19.0 ({node})"),
        ("20.1.0", "problem", "20.1.0 ({node}) is too old: pi needs 22.19.0 or newer"),
    ],
)
def test_the_node_that_runs_pi_is_asked(
    place: CheckedPlace, version: str, state: str, found: str
) -> None:
    node = write_fake_node(place.cwd.parent / "other", version)
    script = place.cwd.parent / "cli.js"
    script.write_text("1.5.0\n")
    check = consulted(with_env(place, PI_SUBAGENTS_PI=f"{node} {script}"))["node"]
    assert (check.state, check.found) == (state, found.format(node=node))


def test_without_a_pi_the_node_it_would_get_is_told(place: CheckedPlace) -> None:
    node = place.cwd.parent / "usr/bin/node"
    chosen = with_env(place, PI_SUBAGENTS_PI="nowhere")
    assert consulted(chosen)["node"].found == f"24.19.0 ({node})"


def test_trust_is_told_with_what_it_means(place: CheckedPlace) -> None:
    check, subject = pi.check_trust, pi.TRUST
    assert check(place) == subject.ok(
        "not trusted, which changes nothing: the project configures nothing for pi"
    )
    (place.cwd / ".pi/extensions").mkdir()
    assert check(place) == subject.note(
        "not trusted: children leave out the project's own pi settings and extensions",
        "If you trust it: start pi here and type /trust",
    )
    (agent_dir(place) / "trust.json").write_text(json.dumps({str(place.cwd): True}))
    assert check(place).state == "ok"


def test_a_project_with_nothing_but_mcp_servers_configures_something_for_pi(
    place: CheckedPlace,
) -> None:
    (place.cwd / ".pi/mcp.json").write_text("{}")
    assert pi.check_trust(place) == pi.TRUST.note(
        "not trusted: children leave out the project's own pi settings and extensions",
        "If you trust it: start pi here and type /trust",
    )


def test_the_users_own_skills_are_no_matter_of_trust_but_all_others_above_are(
    place: CheckedPlace, tmp_path: Path
) -> None:
    skills = place.cwd.parent / ".agents/skills"
    skills.mkdir(parents=True)
    (tmp_path / "link").symlink_to(skills.parents[1])
    states = {
        home: pi.check_trust(with_env(place, HOME=str(home))).state
        for home in (tmp_path / "home", skills.parents[1], tmp_path / "link")
    }
    assert list(states.values()) == ["note", "ok", "ok"]
