"""`subagents profile show`: what a profile says, and what a sub-agent would get from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fakes.profile_home import ProfileHome, make_profile_home, write_profile

from pi_subagents.core import messages
from pi_subagents.engines.pi.invocation import REPORTING

GOLDEN = Path(__file__).parents[3] / "golden/profiles"
KEY = "sk-test-abc123"
UNTRUSTED = (
    'The project\'s profile "own" may not set {}: the project is not trusted. Trust it in pi '
    "(/trust), or with --trust-project, if you have read the file."
)


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    return make_profile_home(tmp_path, monkeypatch, capsys)


def put_reviewer(home: ProfileHome) -> Path:
    """Put the documented example of a whole profile into the user's directory."""
    path = home.user / "reviewer.md"
    path.write_bytes((GOLDEN / "reviewer.md").read_bytes())
    path.chmod(0o600)
    return path


def test_every_field_is_shown_the_key_masked_and_its_origin_last(home: ProfileHome) -> None:
    path = put_reviewer(home)
    assert home.run("show", "reviewer") == (
        0,
        (
            "Profile: reviewer\n"
            "  provider:          anthropic\n"
            "  model:             claude-sonnet-4-5\n"
            "  thinkingLevel:     high\n"
            "  systemPrompt:      You are a code reviewer.\n"
            "  tools:             [read, bash, grep]\n"
            "  noExtensions:      true\n"
            "  apiKey:            sk-t****bc123\n"
            "  extraArgs:         [--verbose]\n"
            "  scope:             global\n"
            f"  path:              {path}\n"
        ),
        "",
    )


def test_the_invocation_has_every_option_and_the_names_of_variables_alone(
    home: ProfileHome,
) -> None:
    put_reviewer(home)
    shown = home.run("show", "reviewer")[1]
    assert home.run("reviewer", "--invocation") == (
        0,
        (
            f"{shown}\n"
            "Options of pi (RUN is the directory of the run, which holds the prompts):\n"
            "  --mode rpc\n"
            "  --no-approve\n"
            "  --provider anthropic\n"
            "  --model claude-sonnet-4-5\n"
            "  --system-prompt RUN/system-prompt.md\n"
            "  --thinking high\n"
            "  --tools read,bash,grep\n"
            "  --no-mcp\n"
            "  --no-extensions\n"
            "  --verbose\n"
            f"  --extension {REPORTING[1]}\n"
            "  --session RUN/child-session.jsonl\n"
            "Variables beside your own (values are not shown):\n"
            "  PI_API_KEY\n"
            "  ANTHROPIC_API_KEY\n"
            "  ANTHROPIC_AUTH_TOKEN (set to nothing)\n"
            "  ANTHROPIC_OAUTH_TOKEN (set to nothing)\n"
            "  PI_SUBAGENTS_CHILD\n"
            "  PI_SUBAGENTS_RUN\n"
        ),
        "",
    )


def test_values_of_options_are_quoted_as_a_shell_wants_them(home: ProfileHome) -> None:
    write_profile(
        home.user, "spaced", "extensions: [/my ext/a.js]", "appendSystemPrompt: Be brief."
    )
    out = home.run("spaced", "--invocation")[1]
    assert "  --append-system-prompt RUN/append-system-prompt.md\n" in out
    assert "  --extension '/my ext/a.js'\n" in out


def test_for_scripts_there_is_everything_and_the_key_is_masked_too(home: ProfileHome) -> None:
    path = put_reviewer(home)
    heard = {
        "schemaVersion": 1,
        "name": "reviewer",
        "scope": "global",
        "path": str(path),
        "overrides": None,
        "profile": {
            "name": "reviewer",
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "thinkingLevel": "high",
            "systemPrompt": "You are a code reviewer.",
            "tools": ["read", "bash", "grep"],
            "noExtensions": True,
            "apiKey": "sk-t****bc123",
            "extraArgs": ["--verbose"],
        },
        "problems": [],
        "notes": [],
        "refusal": None,
    }
    code, out, err = home.run("show", "reviewer", "--json")
    assert (code, json.loads(out), err) == (0, heard, "")
    code, out, err = home.run("show", "reviewer", "--json", "--invocation")
    assert (code, json.loads(out), err) == (
        0,
        {
            **heard,
            "invocation": {
                "arguments": [
                    *("--mode", "rpc", "--no-approve"),
                    *("--provider", "anthropic", "--model", "claude-sonnet-4-5"),
                    *("--system-prompt", "RUN/system-prompt.md", "--thinking", "high"),
                    *("--tools", "read,bash,grep", "--no-mcp", "--no-extensions", "--verbose"),
                    *REPORTING,
                    *("--session", "RUN/child-session.jsonl"),
                ],
                "environment": [
                    {"name": "PI_API_KEY", "empty": False},
                    {"name": "ANTHROPIC_API_KEY", "empty": False},
                    {"name": "ANTHROPIC_AUTH_TOKEN", "empty": True},
                    {"name": "ANTHROPIC_OAUTH_TOKEN", "empty": True},
                    {"name": "PI_SUBAGENTS_CHILD", "empty": False},
                    {"name": "PI_SUBAGENTS_RUN", "empty": False},
                ],
            },
        },
        "",
    )


def test_no_way_to_ask_shows_the_key(home: ProfileHome) -> None:
    put_reviewer(home)
    for options in ([], ["--invocation"], ["--json"], ["--json", "--invocation"]):
        assert KEY not in "".join(map(str, home.run("show", "reviewer", *options)))
    for arguments in (["list"], ["list", "--json"], ["lint"], ["lint", "--json"]):
        assert KEY not in "".join(map(str, home.run(*arguments)))


def test_a_projects_profile_tells_which_global_one_it_overrides_and_only_its_own_problems(
    home: ProfileHome,
) -> None:
    hidden = write_profile(home.user, "own", "modle: x")
    used = write_profile(home.project, "own", "tols: x", "model: small")
    assert home.run("show", "own") == (
        0,
        (
            "Profile: own\n"
            "  model:             small\n"
            f"  scope:             project, overrides {hidden}\n"
            f"  path:              {used}\n"
        ),
        (
            f'Warning: {used}:3: unknown field "tols"; ignored (did you mean "tools"?)\n'
            f"{messages.note_replaces('profile', 'own', str(used))}\n"
        ),
    )
    heard = json.loads(home.run("show", "own", "--json")[1])
    assert (heard["overrides"], heard["problems"]) == (
        str(hidden),
        [
            {
                "path": str(used),
                "line": 3,
                "problem": 'unknown field "tols"; ignored (did you mean "tools"?)',
                "fatal": False,
            }
        ],
    )


def test_what_an_untrusted_project_may_not_decide_is_told_and_left_out(home: ProfileHome) -> None:
    lines = ("model: small", "extensions: [./ext.js]", "extraArgs: [--verbose]", f"apiKey: {KEY}")
    write_profile(home.project, "own", *lines)
    note = UNTRUSTED.format("extensions, extraArgs, apiKey")
    _, shown, err = home.run("show", "own")
    assert ("  extensions:        [./ext.js]\n" in shown, err) == (True, f"{note}\n")
    _, out, err = home.run("show", "own", "--invocation")
    assert (out.removeprefix(shown), err) == (
        (
            "\n"
            "Options of pi (RUN is the directory of the run, which holds the prompts):\n"
            "  --mode rpc\n"
            "  --no-approve\n"
            "  --model small\n"
            "  --no-mcp\n"
            f"  --extension {REPORTING[1]}\n"
            "  --session RUN/child-session.jsonl\n"
            "Variables beside your own (values are not shown):\n"
            "  PI_SUBAGENTS_CHILD\n"
            "  PI_SUBAGENTS_RUN\n"
        ),
        f"{note}\n",
    )
    assert json.loads(home.run("show", "own", "--json")[1])["notes"] == [note]


def test_a_trusted_project_decides_everything(home: ProfileHome) -> None:
    write_profile(home.project, "own", "extensions: [./ext.js]", f"apiKey: {KEY}")
    home.trust()
    code, out, err = home.run("show", "own", "--invocation")
    assert (code, err) == (0, "")
    assert "  --approve\n  --no-mcp\n  --extension ./ext.js\n" in out
    assert out.endswith("  PI_API_KEY\n  PI_SUBAGENTS_CHILD\n  PI_SUBAGENTS_RUN\n")


CONFLICT = (
    'Profile "torn" has both "loadSkills" and "noSkills" set. These are mutually exclusive — '
    "--no-skills disables skill discovery."
)


@pytest.mark.parametrize(
    ("lines", "refusal"),
    [
        (["noSkills: true", "loadSkills: x"], CONFLICT),
        (["loadSkills: x"], 'Unknown skills: "x". Available skills: (none)'),
        (
            ["extraArgs: [--print]"],
            'Refusing extraArg "--print": `subagents.child_mode` says how sub-agents run. Leave it out.',
        ),
    ],
)
def test_a_profile_that_no_task_could_use_is_shown_with_the_reason(
    home: ProfileHome, lines: list[str], refusal: str
) -> None:
    write_profile(home.user, "torn", *lines)
    code, shown, err = home.run("show", "torn")
    assert (code, err) == (0, f"Tasks with this profile cannot start: {refusal}\n")
    assert home.run("show", "torn", "--invocation") == (2, shown, f"Error: {refusal}\n")
    code, out, err = home.run("show", "torn", "--json")
    assert (code, json.loads(out)["refusal"], err) == (0, refusal, "")
    code, out, err = home.run("show", "torn", "--json", "--invocation")
    assert (code, "invocation" in json.loads(out), err) == (2, False, f"Error: {refusal}\n")


def test_a_suggested_skill_is_an_option_with_its_path(home: ProfileHome) -> None:
    skill = home.root / "home/.pi/agent/skills/tidy/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tidy\ndescription: Tidy up.\n---\nTidy.\n")
    write_profile(home.user, "neat", "suggestedSkills: tidy", "noExtensions: true")
    assert f"  --skill {skill}\n" in home.run("neat", "--invocation")[1]


def test_nothing_in_a_profile_can_drive_the_terminal(home: ProfileHome) -> None:
    write_profile(home.user, "evil", 'model: "\\e[2Jx"', body="a\x1b]0;title\x07b")
    for options in ([], ["--invocation"]):
        assert "\x1b" not in "".join(map(str, home.run("evil", *options)))
