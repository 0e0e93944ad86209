# ruff: noqa: INP001 - scripts are files, not a package
"""
Take the pictures of README and docs from real runs: the real command, the real pi, a real terminal.

    python -m scripts.screenshots             all of them
    python -m scripts.screenshots NAME...     some of them
    python -m scripts.screenshots --into DIRECTORY NAME...

In: `PICTURES` below, an entry for each, and the files of scripts/stage.  Out: docs/pictures/*.svg,
and a PNG of what is shown in a browser; or the same in a directory that is named.
The offline model answers, so no account is needed; home and project are a temporary directory.
Needs tmux, chromium for the PNG, and the `dev` extra.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.screenshot_chromium import PROGRAM, a_browser
from scripts.screenshot_svg import drawn
from scripts.screenshot_tmux import NeverShown, screen_of_our_own

from pi_subagents.engines.pi.command import VARIABLE, resolve_pi_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scripts.screenshot_tmux import Screen

ROOT = Path(__file__).resolve().parents[1]
STAGE = ROOT / "scripts" / "stage"
OUT = ROOT / "docs" / "pictures"
PROJECT, CHECKOUT = "project", "pi-subagents"
# A picture is looked at with whatever fonts there are: a sign that only emoji fonts have is drawn
# as the same sign of the other screens, and as wide.
NO_EMOJI = str.maketrans({"⏳": "● ", "✅": "✓ ", "❌": "✗ "})
PIPES = {".test-ends": "14 passed\n", ".lint-ends": "no findings\n", ".links-ends": "9 links\n"}
NO_TMUX = "tmux is needed for pictures: apt-get install tmux, or brew install tmux\n"
NO_CHROMIUM = "chromium is needed for this picture: apt-get install chromium"


@dataclass(frozen=True, slots=True)
class See:
    """Wait until all of these texts are on the screen."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Press:
    """Press keys, by tmux's names for them."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndChecks:
    """Let the checks of the project come to their end."""


Step = See | Press | EndChecks


@dataclass(frozen=True, slots=True)
class Page:
    """What is waited for and pressed on the page whose address the terminal shows."""

    sees: tuple[str, ...]
    keys: tuple[str, ...]
    then_sees: tuple[str, ...]
    clicks: tuple[str, ...] = ()  # on what, by its selector; all of it is waited for
    width: int = 1360
    height: int = 760


@dataclass(frozen=True, slots=True)
class Picture:
    """What is typed at the prompt, and the steps up to the moment when the picture is taken."""

    name: str
    command: str
    steps: tuple[Step, ...]
    columns: int = 96
    rows: int = 30
    directory: str = PROJECT
    page: Page | None = None  # then the picture is one of it, and not of the terminal
    leaving: tuple[Step, ...] = (Press(("C-c",)),)  # whatever is still at work ends in good order

    @property
    def file(self) -> str:
        """What the picture is kept as."""
        return f"{self.name}.png" if self.page else f"{self.name}.svg"


def see(*texts: str) -> See:
    """Wait until all of these are on the screen."""
    return See(texts)


def press(*keys: str) -> Press:
    """Press keys: `Enter`, `Down`, `Escape`, `C-o`, or anything to be typed."""
    return Press(keys)


RUN = "subagents run --task-file tasks.yaml --offline-script script.json"
AT_WORK = see("bash → make test", "bash → make lint", "bash → make links", "place 1", "✗ translate")
CREATE = "subagents profile create careful"
TO_THE_MODEL = (
    see("Save to which scope?"), press("Down", "Enter"),
    see("Provider (e.g."), press("anth", "Tab", "Enter"),
    see("Model (supports"),
)  # fmt: skip
TO_THE_REVIEW = (
    *TO_THE_MODEL, press("sonnet-4-5", "Tab", "Enter"),
    see("Set a custom system prompt?"), press("Up", "Enter"),
    see("Append text to the default"), press("Escape"),
    see("Set a thinking level?"), press("Up", "Enter"),
    see("→ off"), press("End", "Up", "Up", "Enter"),
    see("Restrict which tools"), press("Up", "Enter"),
    see("→ Allow only some"), press("Enter"),
    see("Tools to allow"), press("read, gr", "Tab", ", ls", "Enter"),
    see("Configure extension loading?"), press("Enter"),
    see("Configure skill loading"), press("Enter"),
    see("Save this profile?", "→ Yes"),
)  # fmt: skip

# Two that are over, one of them gone on with, and those of RUN at work behind the view.
SOME_RUNS = (
    'subagents -q run --offline --name count "Count the Python files in src" > first; '
    "subagents -q run --offline --name count --resume last "
    '"List the files in src/shop" > second; '
    f"{RUN} > third 2> fourth & "
)
# A call that changes a file.
OPENED = ".toolcall:nth-of-type(3) summary"
FLEET = ("make test", "make links", "waiting", "failed", "completed")

FIRST_COMMIT = (
    "git init -q; git add -A; "
    "git -c user.name=Jane -c user.email=jane@example.org commit -qm first; clear"
)
FIXES = (
    "subagents run --workspace worktree --trust-project --task-file fixes.yaml "
    "--offline-script fixes.json > ~/answers"
)

PICTURES = (
    Picture("run-windows", RUN, (AT_WORK,)),
    Picture("run-expanded", RUN, (AT_WORK, press("C-o", "Up"), see("End: follow")), rows=22),
    Picture(
        "run-finished",
        f"{RUN} > answers.md",
        (AT_WORK, EndChecks(), see("To continue", "~/project $\n")),
        rows=14,
    ),
    Picture(
        "profile-wizard",
        CREATE,
        (*TO_THE_MODEL, press("sonnet", "Down"), see("→ claude")),
        rows=16,
    ),
    Picture("profile-review", CREATE, TO_THE_REVIEW, rows=35),
    Picture(
        "watch",
        f"{SOME_RUNS} subagents watch",
        (see(*FLEET, "q Leave", "session"), press("Home"), see("running for")),
        columns=110,
        rows=18,
    ),
    Picture(
        "watch-web",
        f"{FIRST_COMMIT}; {SOME_RUNS} subagents watch --web --no-open",
        (see("Watching on"),),
        columns=140,
        page=Page(
            FLEET,
            ("Home", "ArrowDown", "ArrowDown", "o"),
            ("bash → make test",),
            (OPENED, ".patch"),
        ),
    ),
    Picture(
        "watch-web-time",
        f"{FIRST_COMMIT}; {SOME_RUNS} subagents watch --web --no-open",
        (see("Watching on"),),
        columns=140,
        page=Page(FLEET, ("Home", "ArrowDown", "o"), ("Timeline", "Cost")),
    ),
    Picture(
        "pi-windows",
        'COLORTERM=truecolor pi "Fix the rounding, review src and check the links, side by side."',
        (see("bash → make test", "bash → make lint", "bash → make links"),),
        columns=110,
        rows=32,
        leaving=(press("Escape"), see("Session IDs"), press("C-d")),
    ),
    Picture(
        "workspaces",
        FIRST_COMMIT,
        (
            press(FIXES, "Enter"),
            see("To continue", "~/project $\n"),
            press("subagents diff rounding", "Enter"),
            see("cents / 100", "~/project $\n"),
            press("subagents apply rounding cart --passed", "Enter"),
            see("Applied", "src/shop/prices.py\n~/project $\n"),
        ),
        columns=126,
        rows=26,
    ),
    Picture("demo", "subagents demo", (see("What to type next:"),), rows=39, directory=CHECKOUT),
)


def main(arguments: list[str]) -> int:
    """Take the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description="Take the pictures of README and docs anew.")
    parser.add_argument("--into", type=Path, help="another directory than docs/pictures")
    parser.add_argument("names", nargs="*", help="these only")
    options = parser.parse_args(arguments)
    names, out = options.names, options.into or OUT
    if shutil.which("tmux") is None:
        sys.stderr.write(NO_TMUX)
        return 1
    known = {picture.name: picture for picture in PICTURES}
    if unknown := [name for name in names if name not in known]:
        sys.stderr.write(f"no such picture: {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 1
    out.mkdir(exist_ok=True)
    for picture in [known[name] for name in names] or PICTURES:
        try:
            data = taken(picture)
        except NeverShown as failure:
            sys.stderr.write(f"{picture.name}: {failure}\n")
            return 1
        (out / picture.file).write_bytes(data)
        sys.stdout.write(f"{options.into or 'docs/pictures'}/{picture.file}\n")
    return 0


def taken(picture: Picture) -> bytes:
    """Set the stage, have the steps done, and return a picture of what is then to be seen."""
    if picture.page and PROGRAM is None:
        raise NeverShown(NO_CHROMIUM)
    with tempfile.TemporaryDirectory(prefix="pictures-", ignore_cleanup_errors=True) as temporary:
        place = Path(temporary)
        home = set_stage(place)
        with screen_of_our_own(
            place,
            cwd=home / picture.directory,
            env=environment(home),
            columns=picture.columns,
            rows=picture.rows,
        ) as screen:
            prompt = f"~/{picture.directory} $\n"
            screen.see(prompt)
            screen.type(picture.command)
            play(picture.steps, screen, home / picture.directory)
            shown = screen.captured()
            photo = photographed(picture.page, shown) if picture.page else b""
            play(picture.leaving, screen, home / picture.directory)
            screen.see(prompt)
    svg = drawn(
        shown.replace(str(home), "~").translate(NO_EMOJI),
        picture.columns,
        picture.rows,
        name=picture.name,
        title=f"~/{picture.directory}",
    )
    return photo or svg.encode()


def photographed(page: Page, shown: str) -> bytes:
    """Open the page whose address is on the screen, and return a PNG of it."""
    (address,) = re.findall(r"http://127\S+/", shown)
    with a_browser() as browser:
        browser.size(page.width, page.height)
        browser.open(address)
        for text in page.sees:
            browser.sees(text)
        for key in page.keys:
            browser.press(key)
        for text in page.then_sees:
            browser.sees(text)
        for selector in page.clicks:
            browser.until(f"!!document.querySelector({selector!r})")
            browser.click(selector)
        return browser.picture()


def set_stage(place: Path) -> Path:
    """Make a home with two projects: the one of the stage, and a copy of this checkout."""
    home = place / "home"
    shutil.copytree(STAGE / "agent", home / ".pi" / "agent")
    shutil.copytree(STAGE / "project", home / PROJECT)
    shutil.copytree(STAGE / "bin", home / "bin")
    for name in ("prompt.md", "main-agent.json"):
        shutil.copy(STAGE / name, home)
    for name in PIPES:
        os.mkfifo(home / PROJECT / name)
    shutil.copytree(
        ROOT / "src", home / CHECKOUT / "src", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "README.md", home / CHECKOUT)
    return home


def environment(home: Path) -> dict[str, str]:
    """Return what a shell of somebody new to this would have; the key lets pi name its models."""
    pi = resolve_pi_command(os.environ, ROOT, None)
    return {
        "PATH": os.pathsep.join(
            (str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        ),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TERM": "screen",
        "PS1": r"\w $ ",
        "EDITOR": "editor",
        "ANTHROPIC_API_KEY": "none",
        VARIABLE: shlex.join(pi.argv),
    }


def play(steps: Iterable[Step], screen: Screen, project: Path) -> None:
    """Do what the steps say."""
    for step in steps:
        match step:
            case See():
                screen.see(*step.texts)
            case Press():
                screen.press(*step.keys)
            case EndChecks():
                for name, said in PIPES.items():
                    (project / name).write_text(said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
