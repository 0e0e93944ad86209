"""Secrets go, in every form they are usually written in; code and prose about them stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.redaction import MARK, Redactor
from pi_subagents.core.run import events as ev

# Made up, and written in two parts, so that nobody's scanner takes them for real.
_LETTERS = "Zq7Tn2Lx9Vb4Kd8Rw3Hs6Jp1Mf5Gc0Ya"
FORMS = [
    "sk-" + "proj-" + _LETTERS, "sk-" + "ant-api03-" + _LETTERS, "ghp" + "_" + _LETTERS,
    "github" + "_pat_" + _LETTERS, "glpat" + "-" + _LETTERS, "xoxb" + "-1234567890-" + _LETTERS,
    "AKIA" + "Z7QTN2LX9VB4KD8R", "AIza" + _LETTERS + "xyz", "npm" + "_" + _LETTERS, "hf" + "_" + _LETTERS,
    "sk" + "_live_" + _LETTERS, "pypi" + "-" + _LETTERS + _LETTERS, "hvs" + "." + _LETTERS,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + _LETTERS, "SG" + "." + _LETTERS + "." + _LETTERS,
]  # fmt: skip
PEM = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + (_LETTERS * 2 + "\n") * 3
PLAIN = "hush" + "hush77x"
PLACES = [
    "API_KEY={}", "export OPENAI_API_KEY='{}'", 'aws_secret_access_key = "{}"', '"apiKey": "{}"',
    '{{\\"apiKey\\": \\"{}\\"}}', "password: {}", "the password is {}", "DB_PASSWORD={}", "token => '{}'",
    "Authorization: Bearer {}", "-H 'authorization: Basic {}'", "-H 'Cookie: session={}; a=b'",
    "postgres://me:{}@db.example/x", "https://{}longerthan16@git.example/x", "--api-key {}", "--token={}",
    "https://a.example/x?access_token={}&b=1", "https://a.example/x?sig={}", "curl -u me:{} https://a.example",
    "machine git.example login me password {}", "client_secret: {}", "config['auth_token'] = '{}'",
]  # fmt: skip


@pytest.mark.parametrize("secret", FORMS)
def test_keys_of_well_known_services_go_wherever_they_stand(secret: str) -> None:
    for around in ("{}", "I used {}.", "x={}", '"{}"', "({})", "a\n{}\nb", "`{}`", "KEY_{}"):
        assert secret not in Redactor().text(around.format(secret))


@pytest.mark.parametrize("place", PLACES)
def test_what_is_given_to_a_secret_name_goes_and_the_rest_stays(place: str) -> None:
    said = Redactor().text(f"before {place.format(PLAIN)} after")
    assert PLAIN not in said
    assert (said.startswith("before "), said.endswith(" after"), said.count(MARK)) == (
        True,
        True,
        1,
    )


@pytest.mark.parametrize("end", ["-----END RSA " + "PRIVATE KEY-----", ""])
def test_a_private_key_goes_whole_also_escaped_in_a_diff_or_without_its_end(end: str) -> None:
    whole = PEM + end
    diff = "".join(f"+{line}\n" for line in whole.splitlines())
    for text in (whole, diff, whole.replace("\n", "\\n")):
        assert _LETTERS not in Redactor().text(f"x\n{text}\nafterwards")
        assert Redactor().text(f"x\n{text}\nafterwards").endswith("afterwards")


@pytest.mark.parametrize(
    "text",
    [
        "token = parser.next_token()",
        "password = get_password()",
        "def login(password: str, token: str | None = None) -> None:",
        "totalTokens: 12345, max_tokens=4096 and --max-tokens 4096",
        "token: $TOKEN, password: ${PASSWORD}, api_key: <your key>",
        "const token = process.env.TOKEN;",
        "The token is expired. A password is required, and the password is kept.",
        "The secret of this design is that it has no state.",
        "https://example.com/a?page=2&key=name",
        "commit 5238916a9c1f4c3e8b7d2a6f0e1d3c5b7a9f8e6d sk-learn risk-based-approach-2",
        "see docs/tokens.md:12 and src/secret_store.py",
        "password=***** token: xxxx",
    ],
)
def test_code_and_prose_about_secrets_stay(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_secrets_go_wherever_they_are_and_short_ones_are_left() -> None:
    redactor = Redactor(("correct horse battery", "abc"))
    assert redactor.text("a-correct horse battery-b abc") == f"a-{MARK}-b abc"


def test_places_have_other_names_as_whole_components_only() -> None:
    redactor = Redactor(places={"/people/ann": "~"})
    assert redactor.text("/people/ann/x /people/anna /people/ann") == "~/x /people/anna ~"


def test_values_lists_and_objects_are_redacted_to_their_last_text() -> None:
    secret = FORMS[0]
    call = ev.ToolCall("1", "bash", {"env": {"apiKey": PLAIN}, "args": [secret], "n": 3, "a": "b"})
    assert Redactor().anything(ev.ToolStarted(call)) == ev.ToolStarted(
        ev.ToolCall("1", "bash", {"env": {"apiKey": MARK}, "args": [MARK], "n": 3, "a": "b"})
    )


@given(st.text(), st.sampled_from(FORMS), st.text())
def test_no_text_around_a_known_secret_keeps_it(before: str, secret: str, after: str) -> None:
    said = Redactor([secret]).text(f"{before}\x1b[0m{secret[:9]}\u200e{secret[9:]}{after}")
    assert secret not in said


@given(st.text(alphabet="key=:\"' \nBEGIN-/@token\\"))
def test_redacting_is_total_and_a_second_time_changes_nothing(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once
