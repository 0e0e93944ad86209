"""`subagents report`: one file with everything but secrets, in which nobody's text does anything."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes import canary
from tests.fakes.fleet_place import START_MS, USAGE, FleetPlace

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.checked import Checked
from pi_subagents.faces.cli import main as cli

if TYPE_CHECKING:
    from pathlib import Path

CALL = "ca11" * 8
EVIL = "<img src=x onerror=alert(1)><script>document.title='evil'</script></details>"
# One for each place it is planted in, in a form that is usual there.
# These two have no form: only who knows them can find them.
PLAIN_VARIABLE, PLAIN_KEY = "wobbling-otter-river", "harbour-lantern-quill"
IN_PROMPT, IN_ANSWER, IN_OUTPUT, IN_ARGUMENTS, IN_ERROR, IN_NOTE, IN_CHECK = SECRETS = tuple(
    f"canary{number}Zq7Tn2Lx9Vb4Kd8Rw3Hs" for number in range(7)
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    project = tmp_path / "home" / "project"
    (project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PI_SUBAGENTS_DATA", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return FleetPlace(project, {"HOME": str(tmp_path / "home")})


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(["report", *arguments])
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, out, err

    return run


def make_call(place: FleetPlace) -> None:
    """Make a call of two runs, with a secret and somebody's HTML wherever there is text."""
    one = place.going_on(f"fix {EVIL}", callId=CALL, task=f"{EVIL} Use token: {IN_PROMPT} for it")
    asked = {"command": f"curl -H 'Authorization: Bearer {IN_ARGUMENTS}' {place.path} {EVIL}"}
    one.log.record(ev.ToolStarted(ev.ToolCall("1", "bash", asked)), START_MS + 200)
    failed = f"{EVIL}\nposted as https://me:{IN_OUTPUT}@x.example"
    one.log.record(ev.ToolFinished("1", "bash", failed, failed=True), START_MS + 400)
    one.ends(
        output=f"# Done\n\n{EVIL} in {place.path}/a.py: `DB_PASSWORD={IN_ANSWER}` and "
        f"{canary.IN_ENVIRONMENT} {canary.IN_PROFILE} {PLAIN_VARIABLE} {PLAIN_KEY}",
        notes=(f"client_secret={IN_NOTE} {EVIL}",),
        checked=Checked(f"make API_KEY={IN_CHECK} {EVIL}", 0),
        usage=USAGE,
        finished_at_ms=START_MS + 1000,
    )
    other = place.going_on("other", callId=CALL)
    other.ends(status="failed", error_message=f"401 {EVIL} password is {IN_ERROR}")
    place.finished("beside")  # of another call


def written(said: Any, tmp_path: Path, name: str, *arguments: str) -> str:
    path = tmp_path / name
    code, out, _ = said(*arguments, "-o", str(path))
    assert (code, out) == (0, "")
    return path.read_text()


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {str(given) for name, given in attrs if name in ("href", "src")}
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("name", "places"), [("report.html", 8), ("report.md", 5), ("report.json", 8)]
)
def test_no_secret_is_in_any_form_of_a_report(
    place: FleetPlace,
    said: Any,
    tmp_path: Path,
    name: str,
    places: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in canary.plant(tmp_path / "home" / ".pi" / "agent").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("ACME_TOKEN", PLAIN_VARIABLE)
    profile = tmp_path / "home" / ".pi" / "agent" / "agent-profiles" / "plain.md"
    profile.write_text(f"---\nname: plain\nprovider: acme\nmodel: m\napiKey: {PLAIN_KEY}\n---\n")
    profile.chmod(0o600)
    make_call(place)
    text = written(said, tmp_path, name, "other")
    assert canary.heard(text) == []
    assert [each for each in (*SECRETS, PLAIN_VARIABLE, PLAIN_KEY) if each in text] == []
    assert text.count("[redacted]") >= places
    assert str(tmp_path) not in text
    assert "~/project/a.py" in text


def test_a_page_runs_nothing_loads_nothing_and_has_one_style_sheet(
    place: FleetPlace, said: Any, tmp_path: Path
) -> None:
    make_call(place)
    page = written(said, tmp_path, "report.html", "--last") + written(
        said, tmp_path, "a.html", CALL
    )
    tags = Tags(page)
    assert tags.open == []
    assert tags.names.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form"})
    assert {name for name in tags.attributes if name.startswith("on")} == set()
    assert "style" not in tags.attributes
    assert all(each.startswith("#") for each in tags.addresses)
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]*)\)", page)) == {"#waits", "#limits"}
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert (
        f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'\">"
    ) in page


def test_markdown_ends_no_quotation_and_loads_no_picture(place: FleetPlace, said: Any) -> None:
    make_call(place)
    code, out, err = said(CALL[:6])
    assert (code, err) == (0, "")
    outside_code = re.sub(r"```.*?```|`[^`\n]*`", "", out, flags=re.DOTALL)
    ours = r"(?<!\\)<(?!/?details>\n|/?summary>|details><summary>|!-- pi-subagents report -->)"
    assert re.findall(ours, outside_code) == []
    assert outside_code.count("<details>") == outside_code.count("</details>") == 1
    assert "> # Done" in out


def test_json_says_what_the_page_says(place: FleetPlace, said: Any, tmp_path: Path) -> None:
    make_call(place)
    told = json.loads(written(said, tmp_path, "report.json", CALL))
    assert (told["kind"], told["schemaVersion"]) == ("pi-subagents report", 1)
    assert [(run["status"], run["usage"]["totalTokens"]) for run in told["runs"]] == [
        ("completed", 1234),
        ("failed", 0),
    ]
    (timeline,) = told["timelines"]
    assert [each["kind"] for bar in timeline["bars"] for each in bar["segments"]] == ["tool"]


def runs_in(said: Any, tmp_path: Path, *arguments: str) -> list[str]:
    told = json.loads(written(said, tmp_path, "which.json", *arguments))
    return [run["title"] for run in told["runs"]]


def test_a_run_stands_for_its_call_a_session_for_its_runs_and_nothing_for_the_last(
    place: FleetPlace, said: Any, tmp_path: Path
) -> None:
    for name, session, call in (
        ("a", "5e551011aaaaaaaa", "c1" * 16),
        ("b", "", "c1" * 16),
        ("c", "5e551011aaaaaaaa", ""),
        ("d", "", "c2" * 16),
    ):
        place.going_on(name, session, callId=call).ends()
    assert runs_in(said, tmp_path, "b") == ["a", "b"]
    assert runs_in(said, tmp_path, "0001") == ["a", "b"]
    assert runs_in(said, tmp_path, "c1c1") == ["a", "b"]
    assert runs_in(said, tmp_path, "0003") == ["c"]  # of a time without calls
    assert runs_in(said, tmp_path, "5e551011") == ["a", "c"]
    assert runs_in(said, tmp_path) == runs_in(said, tmp_path, "--last") == ["d"]


def test_what_cannot_be_reported_or_kept_is_refused_and_no_file_is_touched(
    place: FleetPlace, said: Any, tmp_path: Path
) -> None:
    place.finished("one")
    foreign = tmp_path / "README.md"
    foreign.write_text("mine")
    for arguments, why in (
        (("nobody",), 'Run "nobody" not found'),
        (("one", "--last"), "contradict each other"),
        (("one", "-o", "report.pdf"), "name it .html, .md or .json"),
        (("one", "-o", str(foreign)), "it exists and is no report; choose another name"),
        (("one", "-o", str(tmp_path / "no" / "report.md")), "No such file or directory"),
    ):
        code, out, err = said(*arguments)
        assert (code, out) == (2, "")
        assert why in err
    assert foreign.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "home"]
    path = tmp_path / "report.md"
    assert (said("one", "-o", str(path))[0], said("one", "-o", str(path))[0]) == (0, 0)
