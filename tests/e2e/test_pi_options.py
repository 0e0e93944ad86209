"""What we know of pi's command line and key variables, held against the real pi's own files."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.core.extra_args import (
    FLAGS,
    REFUSED,
    TAKES_ANYTHING,
    TAKES_WORD,
    extra_args_problem,
)
from pi_subagents.core.profile import Profile
from pi_subagents.core.profile_invocation import KEY_VARIABLE, profile_invocation
from pi_subagents.core.provider_keys import _VARIABLES, key_variables

pytestmark = pytest.mark.pi

KEY = "sk-ours"
PARSE = """
import { parseArgs } from "PARSER";
import { json } from "node:stream/consumers";
const parsed = (await json(process.stdin)).map((items) => {
    const result = parseArgs(items);
    return { ...result, unknownFlags: Object.fromEntries(result.unknownFlags) };
});
console.log(JSON.stringify(parsed));
"""
# Which variables a provider asks for; then, with a stray value in each of them and ours over it,
# what it makes of them.
RESOLVE = """
import { builtinProviders } from "PROVIDERS";
import { defaultProviderAuthContext } from "CONTEXT";
import { json } from "node:stream/consumers";
const ours = await json(process.stdin);
const found = {};
for (const { id, auth } of builtinProviders()) {
    const signal = new AbortController().signal;
    const asked = new Set();
    const env = async (name) => { asked.add(name); };
    await auth.apiKey?.resolve({ ctx: { env, fileExists: async () => true }, signal });
    for (const name of asked) process.env[name] = "stray";
    Object.assign(process.env, ours[id]);
    found[id] = await auth.apiKey?.resolve({ ctx: defaultProviderAuthContext(), signal }) ?? null;
    for (const name of [...asked, ...Object.keys(ours[id] ?? {})]) delete process.env[name];
}
console.log(JSON.stringify(found));
"""


def source(path: str) -> Path:
    """Return a file of the pi under test, or of a package that it brings along."""
    script = Path(shlex.split(os.environ["PI_SUBAGENTS_PI"])[-1]).resolve()
    found = (parent / path for parent in script.parents if (parent / path).is_file())
    return next(found)


def run_in_node(program: str, given: object, **modules: Path) -> Any:
    first, *rest = shlex.split(os.environ["PI_SUBAGENTS_PI"])
    node = first if rest else shutil.which("node")
    assert node is not None
    for name, path in modules.items():
        program = program.replace(name, path.as_uri())
    argv = [node, "--input-type=module", "--eval", program]
    done = subprocess.run(
        argv, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parsed(lines: list[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return what pi's own parser makes of each list of arguments."""
    answers: list[dict[str, Any]] = run_in_node(PARSE, lines, PARSER=source("dist/cli/args.js"))
    return answers


def test_every_option_of_pi_is_classified_and_no_other() -> None:
    text = source("dist/cli/args.js").read_text(encoding="utf-8")
    options = set(re.findall(r'arg === "(-[^"]*)"', text))
    assert options == FLAGS | TAKES_ANYTHING | TAKES_WORD | set(REFUSED)


def test_options_take_what_we_think_they_take() -> None:
    flags, anything, words = (sorted(table) for table in (FLAGS, TAKES_ANYTHING, TAKES_WORD))
    lines = [
        *((option, "word") for option in flags),
        *((option, "--approve", "word") for option in anything),
        *((option, "word", "word") for option in words),
        *((option, "--approve", "word") for option in words),
        ("--unknown", "word", "word"),
        ("--unknown", "--approve", "word"),
        ("--unknown", "@file", "word"),
        ("--unknown=value", "word"),
    ]
    answers = parsed(lines)
    assert [answer["messages"] for answer in answers] == [["word"]] * len(lines)
    trusting = {line[0] for line, answer in zip(lines, answers, strict=True) if "projectTrustOverride" in answer}  # fmt: skip
    assert trusting == {*TAKES_WORD, "--unknown"}


# What extraArgs must leave as we said it, or unsaid.
OURS = (
    "mode", "print", "noSession", "session", "sessionId", "sessionDir", "fork", "continue", "resume",
    "name", "export", "apiKey", "projectTrustOverride", "help", "version", "listModels", "messages",
    "fileArgs",
)  # fmt: skip
BEFORE, AFTER = ("--mode", "json", "-p", "--no-session"), ("--no-approve",)


def test_nothing_that_we_let_through_touches_what_is_ours() -> None:
    options = sorted(FLAGS | TAKES_ANYTHING | TAKES_WORD | set(REFUSED))
    others = ["--unknown", "--unknown=x", "-x", "-", "---x", "word", "", "@file", "--tools=x"]
    some = ["--verbose", "--model", "--tools", "--use-theme", "--approve", *others]
    lines = [
        *itertools.product([*options, *others, *(f"{option}=x" for option in options)], repeat=1),
        *itertools.product([*options, *others], repeat=2),
        *itertools.product(some, repeat=3),
    ]
    through = [line for line in lines if not extra_args_problem(Profile("p", extra_args=line))]
    assert len(through) > len(lines) // 10, "the check is not simply closed"
    expected, *answers = parsed([(*BEFORE, *line, *AFTER) for line in [(), *through]])
    touched = {
        line: answer
        for line, answer in zip(through, answers, strict=True)
        if [answer.get(name) for name in OURS] != [expected.get(name) for name in OURS]
    }
    assert touched == {}


def test_values_that_look_like_options_or_files_stay_values() -> None:
    profile = Profile(
        "hostile",
        provider="--approve",
        model="@model",
        thinking_level="-p",
        tools=("--api-key", "@tool"),
        extensions=("--session", "@extension"),
    )
    allowing = profile_invocation(
        profile,
        system_prompt_file="--mode",
        append_prompt_file="@append",
        skill_paths=("--", "@skill"),
        parent_tools=None,
    )
    excluding = profile_invocation(
        Profile("hostile", exclude_tools=("--approve", "@tool")),
        system_prompt_file=None,
        append_prompt_file=None,
        skill_paths=(),
        parent_tools=None,
    )
    first, second = parsed([allowing.arguments, excluding.arguments])
    assert [each["type"] for each in first.pop("diagnostics")] == ["warning"]  # of `--thinking -p`
    nothing: dict[str, Any] = {"messages": [], "fileArgs": [], "unknownFlags": {}}
    assert first == {
        **nothing,
        "provider": "--approve",
        "model": "@model",
        "systemPrompt": "--mode",
        "appendSystemPrompt": ["@append"],
        "tools": ["--api-key", "@tool"],
        "extensions": ["--session", "@extension"],
        "skills": ["--", "@skill"],
    }
    assert second == {**nothing, "diagnostics": [], "excludeTools": ["--approve", "@tool"]}


def test_every_provider_of_pi_gets_the_key_that_a_profile_gives_it() -> None:
    """Whatever else its own variables hold in the caller's environment."""
    environments = {
        name: profile_invocation(
            Profile("p", provider=name, api_key=KEY),
            system_prompt_file=None,
            append_prompt_file=None,
            skill_paths=(),
            parent_tools=None,
        ).environment
        for name in _VARIABLES
    }
    found = run_in_node(
        RESOLVE,
        environments,
        PROVIDERS=source("node_modules/@earendil-works/pi-ai/dist/providers/all.js"),
        CONTEXT=source("node_modules/@earendil-works/pi-ai/dist/auth/context.js"),
    )
    used = {name: found_auth and found_auth["source"] for name, found_auth in found.items()}
    ours = {name: (lines := key_variables(name, "")) and lines.set for name in found}
    assert used == ours
    assert set(_VARIABLES) <= set(found)
    keys = {name: json.dumps(each["auth"]) for name, each in found.items() if each and each["auth"]}
    assert {name for name, auth in keys.items() if KEY not in auth or "stray" in auth} == set()
    # Amazon's own library reads the variable itself.
    assert set(_VARIABLES) - set(keys) == {"amazon-bedrock"}


def test_no_variable_of_pi_for_keys_is_unknown_to_us() -> None:
    text = source("node_modules/@earendil-works/pi-ai/dist/env-api-keys.js").read_text(
        encoding="utf-8"
    )
    variables = set(re.findall(r'"([A-Z_]+(?:_API_KEY|_TOKEN))"', text))
    known = {name for each in _VARIABLES.values() for name in (each.set, *each.unset)}
    assert variables - known == set()
    assert KEY_VARIABLE not in text
