"""What we know of pi's command line and key variables, held against the real pi itself."""

import itertools
import json
import os
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.pi_under_test import TRAITS
from tests.fakes.inside_pi import inside_pi

from pi_subagents.core.profile.profile import Profile
from pi_subagents.engines.pi.profile import extra_args, providers
from pi_subagents.engines.pi.profile.extra_args import extra_args_problem, words_of_no_option
from pi_subagents.engines.pi.profile.options import KEY_VARIABLE, profile_invocation
from pi_subagents.engines.pi.profile.providers import KeyVariables, key_variables

pytestmark = pytest.mark.pi

KEY = "sk-ours"


@dataclass
class Known:
    """What we know of a pi: its options by what they take, and the key variables of providers."""

    flags: Collection[str]
    takes_anything: Collection[str]
    takes_word: Collection[str]
    refused: Collection[str]
    key_variables: Mapping[str, KeyVariables]

    @property
    def options(self) -> set[str]:
        return {*self.flags, *self.takes_anything, *self.takes_word, *self.refused}


def known() -> Known:
    """Return what we know of the pi under test."""
    return Known(
        extra_args.FLAGS.union(TRAITS.flags),
        extra_args.TAKES_ANYTHING,
        extra_args.TAKES_WORD,
        extra_args.REFUSED,
        providers.KEY_VARIABLES,
    )


def package_of_pi() -> Path:
    """Return the directory of the pi under test."""
    script = Path(shlex.split(os.environ["PI_SUBAGENTS_PI"])[-1]).resolve()
    return next(parent for parent in script.parents if (parent / "dist/cli/args.js").is_file())


def parsed(directory: Path, lines: list[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return what pi's own parser makes of each list of arguments."""
    answers: list[dict[str, Any]] = inside_pi(
        directory,
        'import { parseArgs } from "@earendil-works/pi-coding-agent";',
        """
        return given.map((items: string[]) => {
            const result = parseArgs(items);
            return { ...result, unknownFlags: Object.fromEntries(result.unknownFlags) };
        });
        """,
        lines,
    )
    return answers


def test_every_option_of_pi_is_classified_and_no_other() -> None:
    text = (package_of_pi() / "dist/cli/args.js").read_text(encoding="utf-8")
    options = set(re.findall(r'arg === "(-[^"]*)"', text))
    assert options == known().options


def test_options_take_what_we_think_they_take(tmp_path: Path) -> None:
    tables = (known().flags, known().takes_anything, known().takes_word)
    flags, anything, words = (sorted(table) for table in tables)
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
    answers = parsed(tmp_path, lines)
    assert [answer["messages"] for answer in answers] == [["word"]] * len(lines)
    trusting = {line[0] for line, answer in zip(lines, answers, strict=True) if "projectTrustOverride" in answer}  # fmt: skip
    assert trusting == {*words, "--unknown"}


# What extraArgs must leave as we said it, or unsaid.
OURS = (
    "mode", "print", "noSession", "session", "sessionId", "sessionDir", "fork", "continue", "resume",
    "name", "export", "apiKey", "projectTrustOverride", "help", "version", "listModels",
    "fileArgs",
)  # fmt: skip
BEFORE, AFTER = ("--mode", "json", "-p", "--no-approve"), ("--session", "/s")


def test_nothing_that_we_let_through_touches_what_is_ours(tmp_path: Path) -> None:
    options = sorted(known().options)
    others = ["--unknown", "--unknown=x", "-x", "-", "---x", "word", "", "@file", "--tools=x"]
    some = ["--verbose", "--model", "--tools", "--use-theme", "--approve", *others]
    lines = [
        *itertools.product([*options, *others, *(f"{option}=x" for option in options)], repeat=1),
        *itertools.product([*options, *others], repeat=2),
        *itertools.product(some, repeat=3),
    ]
    through = [
        line for line in lines if not extra_args_problem(Profile("p", extra_args=line), TRAITS)
    ]
    assert len(through) > len(lines) // 10, "the check is not simply closed"
    expected, *answers = parsed(tmp_path, [(*BEFORE, *line, *AFTER) for line in [(), *through]])
    touched = {
        line: answer
        for line, answer in zip(through, answers, strict=True)
        if [answer.get(name) for name in OURS] != [expected.get(name) for name in OURS]
    }
    assert touched == {}
    prompts = [tuple(answer["messages"]) for answer in answers]
    assert prompts == [
        words_of_no_option(Profile("p", extra_args=line), TRAITS) for line in through
    ]


def test_values_that_look_like_options_or_files_stay_values(tmp_path: Path) -> None:
    """A tool's name is none of them: where it begins with a sign, that has a meaning since 0.99."""
    profile = Profile(
        "hostile",
        provider="--approve",
        model="@model",
        thinking_level="-p",
        tools=("read --approve", "@tool"),
        extensions=("--session", "@extension"),
    )
    allowing = profile_invocation(
        profile,
        system_prompt_file="--mode",
        append_prompt_file="@append",
        skill_paths=("--", "@skill"),
        parent_tools=None,
        traits=TRAITS,
    )
    excluding = profile_invocation(
        Profile("hostile", exclude_tools=("--approve", "@tool")),
        system_prompt_file=None,
        append_prompt_file=None,
        skill_paths=(),
        parent_tools=None,
        traits=TRAITS,
    )
    first, second = parsed(tmp_path, [allowing.argv, excluding.argv])
    assert [each["type"] for each in first.pop("diagnostics")] == ["warning"]  # of `--thinking -p`
    nothing: dict[str, Any] = {"messages": [], "fileArgs": [], "unknownFlags": {}}
    if TRAITS.without_mcp:
        nothing["noMcp"] = True
    assert first == {
        **nothing,
        "provider": "--approve",
        "model": "@model",
        "systemPrompt": "--mode",
        "appendSystemPrompt": ["@append"],
        "tools": ["read --approve", "@tool"],
        "extensions": ["--session", "@extension"],
        "skills": ["--", "@skill"],
    }
    assert second == {**nothing, "diagnostics": [], "excludeTools": ["--approve", "@tool"]}


NOT_IN_EVERY_PI = {"azure", "azure-openai-responses", "typesafe"}
PROVIDERS = 'import { builtinProviders } from "@earendil-works/pi-ai/providers/all";'
# Which variables a provider asks for; then, with a stray value in each of them and ours over it,
# what it makes of them.
RESOLVE = """
    const found: Record<string, unknown> = {};
    for (const { id, auth } of builtinProviders()) {
      const signal = new AbortController().signal;
      const asked = new Set<string>();
      const env = async (name: string) => { asked.add(name); };
      await auth.apiKey?.resolve({ ctx: { env, fileExists: async () => true }, signal });
      for (const name of asked) process.env[name] = "stray";
      Object.assign(process.env, given[id]);
      found[id] = await auth.apiKey?.resolve({ ctx: defaultProviderAuthContext(), signal }) ?? null;
      for (const name of [...asked, ...Object.keys(given[id] ?? {})]) delete process.env[name];
    }
    return found;
"""


def test_every_provider_of_pi_gets_the_key_that_a_profile_gives_it(tmp_path: Path) -> None:
    """Whatever else its own variables hold in the caller's environment."""
    variables = known().key_variables
    environments = {
        name: profile_invocation(
            Profile("p", provider=name, api_key=KEY),
            system_prompt_file=None,
            append_prompt_file=None,
            skill_paths=(),
            parent_tools=None,
            traits=TRAITS,
        ).environment
        for name in variables
    }
    context = 'import { defaultProviderAuthContext } from "@earendil-works/pi-ai";'
    found = inside_pi(tmp_path, f"{PROVIDERS}\n{context}", RESOLVE, environments)
    used = {name: found_auth and found_auth["source"] for name, found_auth in found.items()}
    ours = {name: (lines := key_variables(name, "")) and lines.set for name in found}
    assert used == ours
    assert set(variables) - set(found) <= NOT_IN_EVERY_PI
    keys = {name: json.dumps(each["auth"]) for name, each in found.items() if each and each["auth"]}
    assert {name for name, auth in keys.items() if KEY not in auth or "stray" in auth} == set()
    # Amazon's own library reads the variable itself.
    assert set(found) & set(variables) - set(keys) == {"amazon-bedrock"}


# All that any provider looks at for a key, where every variable there could be is set.
ASKED = """
    const everything = new Proxy({}, { get: () => "set" });
    const names = new Set<string>();
    for (const { id, auth } of builtinProviders()) {
      for (const name of findEnvKeys(id, everything) ?? []) names.add(name);
      const env = async (name: string) => { names.add(name); };
      const signal = new AbortController().signal;
      await auth.apiKey?.resolve({ ctx: { env, fileExists: async () => true }, signal });
    }
    return [...names];
"""


def test_no_variable_of_pi_for_keys_is_unknown_to_us(tmp_path: Path) -> None:
    finder = 'import { findEnvKeys } from "@earendil-works/pi-ai";'
    asked = inside_pi(tmp_path, f"{PROVIDERS}\n{finder}", ASKED)
    keys = {name for name in asked if name.endswith(("_API_KEY", "_TOKEN"))}
    ours = {name for each in known().key_variables.values() for name in (each.set, *each.unset)}
    assert keys - ours == set()
    assert len(keys) > len(ours) // 2, "pi tells what it looks at"


def test_the_variable_that_profiles_always_set_means_nothing_to_pi() -> None:
    bundle = package_of_pi() / "dist/bundle"
    texts = (path.read_text(encoding="utf-8") for path in bundle.rglob("*.js"))
    assert not any(KEY_VARIABLE in text for text in texts)
