"""The real pi tells its models, and what it tells is kept until something changes."""

import json
import os
from pathlib import Path

import pytest
from tests.e2e.command import Ran, subagents
from tests.e2e.conftest import Project
from tests.fakes.fake_node import write_script

from pi_subagents.core.engine_values import Model
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.models.available import list_models
from pi_subagents.engines.pi.models.config import ChildSetup
from pi_subagents.engines.pi.models.names import resolve_model
from pi_subagents.errors import ModelsUnknown, NoModelConfigured
from pi_subagents.system.home import data_dir

pytestmark = pytest.mark.pi

CUSTOM = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "$ACME_KEY"}
EXTENSION = """\
export default function (pi) {
  pi.registerProvider("own", {
    baseUrl: "http://127.0.0.1:9/v1", apiKey: "x", api: "openai-completions",
    models: [{ id: "made", name: "Made Here", reasoning: false, input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 1000, maxTokens: 100 }],
  });
}
"""


@pytest.fixture(autouse=True)
def no_key_of_the_machine(project: Project) -> None:
    """Let the tests say which models there are, whatever this machine has a key for."""
    endings = ("_KEY", "_TOKEN", "_CREDENTIALS", "_PROFILE")
    for name in [name for name in project.env if name.endswith(endings)]:
        if name != "SOME_SERVICE_TOKEN":
            del project.env[name]


def configure(project: Project, *ids: str) -> None:
    models = [{"id": each, "name": each.upper()} for each in ids]
    content = {"providers": {"acme": {**CUSTOM, "models": models}}}
    (project.agent_dir / "models.json").write_text(json.dumps(content))


def said(project: Project, *arguments: str, trusted: bool = False) -> tuple[Model, ...]:
    pi = resolve_pi_command(project.env, project.path, None)
    setup = ChildSetup(pi.argv, project.path, project.env, trusted, arguments)
    return list_models(setup, data_dir(project.env)).models


def listed(ran: Ran) -> tuple[bool, list[str]]:
    assert (ran.code, ran.err) == (0, "")
    return ran.json["cached"], [f"{each['provider']}/{each['id']}" for each in ran.json["models"]]


def test_a_model_added_to_models_json_is_seen_at_once(project: Project) -> None:
    project.env["ACME_KEY"] = "k"
    configure(project, "one")
    subagents(project, "models")  # the first pi in a new home makes files of its own there
    assert listed(subagents(project, "models", "--json", "--refresh")) == (False, ["acme/one"])
    assert listed(subagents(project, "models", "--json")) == (True, ["acme/one"])
    configure(project, "one", "a/b:high")
    assert listed(subagents(project, "models", "--json")) == (False, ["acme/one", "acme/a/b:high"])
    assert listed(subagents(project, "models", "--json")) == (True, ["acme/one", "acme/a/b:high"])


def test_a_key_that_appears_makes_its_models_appear(project: Project) -> None:
    configure(project, "one")
    assert said(project) == ()
    project.env["ACME_KEY"] = "k"
    assert said(project) == (Model("acme", "one", "ONE", priced=False),)
    del project.env["ACME_KEY"]
    assert said(project) == ()


def test_without_models_pi_answers_and_the_command_says_how_to_get_some(project: Project) -> None:
    ran = subagents(project, "models")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("No model is configured.")


def test_models_of_an_extension_are_told_where_the_child_would_load_it(project: Project) -> None:
    made = (Model("own", "made", "Made Here", priced=False),)
    extension = project.path / ".pi" / "extensions" / "own.js"
    extension.parent.mkdir()
    extension.write_text(EXTENSION)
    assert said(project) == ()
    assert said(project, trusted=True) == made
    assert said(project, "--no-extensions", trusted=True) == ()
    assert said(project, "--no-extensions", "--extension", str(extension)) == made


def test_an_extension_that_is_missing_is_told_with_the_words_of_pi(project: Project) -> None:
    with pytest.raises(ModelsUnknown) as error:
        said(project, "--extension", "missing.ts")
    assert error.value.reason == "it exited with code 1"
    assert "missing.ts" in error.value.output[0]


def test_what_pi_has_can_be_named(project: Project) -> None:
    project.env["ANTHROPIC_API_KEY"] = project.env["OPENROUTER_API_KEY"] = "k"
    models = said(project)
    assert {model.provider for model in models} == {"anthropic", "openrouter"}
    for model in models:
        assert resolve_model(model.reference, models) == model.reference


def test_without_a_model_a_run_is_refused_before_anything_starts(
    project: Project, tmp_path: Path
) -> None:
    """Of a pi on PATH: a command that somebody configured may know more than its files say."""
    program = write_script(
        tmp_path / "bin/pi", f'#!/bin/sh\nexec {project.env.pop("PI_SUBAGENTS_PI")} "$@"\n'
    )
    project.env["PATH"] = f"{program.parent}{os.pathsep}{project.env['PATH']}"
    refused = subagents(project, "run", "hello")
    assert (refused.code, refused.out, refused.err) == (2, "", f"Error: {NoModelConfigured()}\n")
    assert not (project.path / ".pi/subagents").exists()
    configure(project, "small")
    refused = subagents(project, "run", "hello", "--model", "acme/smal", ACME_KEY="x")
    assert refused.err.startswith(
        'Error: Model "acme/smal" is not available (sub-agents can use 1 mod'
    )
    assert "Did you mean acme/small?" in refused.err


def test_a_provider_that_cannot_be_reached_is_told_in_two_lines(project: Project) -> None:
    configure(project, "small")
    ran = subagents(project, "run", "hello", "-q", "--model", "acme/small", ACME_KEY="x")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "hello: The provider cannot be reached.\n"
        "Check the network, and the provider's address if you set one (models.json).\n"
    )
