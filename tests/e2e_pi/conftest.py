"""The real pi as main agent, by `make e2e-pi`; plain pytest does not collect these."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pytest
from tests.e2e.conftest import project
from tests.fakes.driver import ADDRESS_VARIABLE, FAKE_PI_COMMAND, open_driver
from tests.fakes.main_pi import CHILDREN, main_pi
from tests.fakes.pi_screen import PiScreen, pi_screen
from tests.fakes.processes import children_of, command_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.conftest import Project
    from tests.fakes.driver import Driver
    from tests.fakes.main_pi import MainPi

    Answer = TypeVar("Answer")

__all__ = ["project"]


@dataclass
class Stage:
    """The real pi on a screen, and fake children that do as they are told."""

    project: Project
    driver: Driver
    settings: dict[str, object] = field(default_factory=dict)

    @contextmanager
    def pi(self, *turns: object) -> Iterator[MainPi]:
        """Have a main agent whose children are fake."""
        with main_pi(self.project, *turns) as pi:
            pi.env |= {"PI_SUBAGENTS_PI": FAKE_PI_COMMAND, ADDRESS_VARIABLE: self.driver.address}
            path = self.project.agent_dir / "settings.json"
            path.write_text(
                json.dumps({**json.loads(path.read_text()), "subagents": self.settings})
            )
            yield pi

    @contextmanager
    def screen(self, *turns: object, arguments: tuple[str, ...] = ()) -> Iterator[Watched]:
        """Have it on a screen."""
        with self.pi(*turns) as pi, pi_screen(pi, *arguments) as screen:
            yield Watched(pi, screen)

    def write_preset(self, name: str) -> None:
        """Give the user a preset whose model is the children's."""
        path = self.project.agent_dir / "subagents" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        model = f"{CHILDREN}/{CHILDREN}"
        path.write_text(f"---\nname: {name}\ndescription: {name}s\nmodel: {model}\n---\nBe one.\n")


class Watched:
    """A screen that can be waited for while children are led by the hand."""

    def __init__(self, host: MainPi, screen: PiScreen) -> None:
        self.host = host
        self.screen = screen

    async def shows(self, *texts: str) -> str:
        return await asyncio.to_thread(self.screen.wait_for, *texts)

    async def shows_no(self, text: str) -> str:
        return await asyncio.to_thread(self.screen.wait_without, text)

    async def enter(self, text: str) -> None:
        await asyncio.to_thread(self.screen.enter, text)

    def press(self, *keys: str) -> None:
        self.screen.press(*keys)

    def pi_pid(self) -> int:
        """Return the process of pi: the one child of the shell in the terminal."""
        (pid,) = children_of(self.screen.shell_pid)
        return pid

    def core_pid(self) -> int:
        """Return the process of the core: the child of pi that serves the bridge."""
        lines = command_lines()
        (pid,) = [pid for pid in children_of(self.pi_pid()) if b"\0bridge\0" in lines[pid]]
        return pid


@pytest.fixture
async def stage(project: Project) -> AsyncIterator[Stage]:
    async with open_driver() as driver:
        yield Stage(project, driver)
