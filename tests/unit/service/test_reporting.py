"""What a report leaves out because its writer knows it: variables and keys, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.redaction import MARK
from pi_subagents.service.reporting import redactor_for

if TYPE_CHECKING:
    from pathlib import Path

LINE = "river otter lantern quill harbour"
SECRET = 'a "b"/c&d é'


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path / "home"),
        "MY_KEY": f"first line\n{LINE}\nlast",
        "DB_PASSWORD": SECRET,
        "SSH_AUTH_SOCK": "/run/agent.sock",
        "TOKEN_LIMIT": "200000",
        "EDITOR": "some-editor",
        "GIT_AUTHOR_NAME": "some-editor",
        "SHORT_TOKEN": "the",
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"x {SECRET} y", f"x {MARK} y"),
        ('{"a": "a \\"b\\"/c&d \\u00e9"}', f'{{"a": "{MARK}"}}'),
        ("?a=a%20%22b%22%2Fc%26d%20%C3%A9&b", f"?a={MARK}&b"),
        (f"> {LINE} <", f"> {MARK} <"),
        ("/run/agent.sock 200000 some-editor the", "/run/agent.sock 200000 some-editor the"),
    ],
)
def test_values_of_variables_that_hold_a_secret_go_in_every_form(
    tmp_path: Path, env: dict[str, str], text: str, left: str
) -> None:
    assert redactor_for(tmp_path, env).text(text) == left


def test_the_home_of_whoever_reports_has_no_name(tmp_path: Path, env: dict[str, str]) -> None:
    assert redactor_for(tmp_path, env).text(f"in {env['HOME']}/a") == "in ~/a"
