# ruff: noqa: INP001 - scripts are files, not a package
"""
Compose docs/errors.md: every exception and every other message, in the words a user meets.

In: the live modules `errors` and `messages`.  Out: one page.  Texts are made by the code itself,
given placeholders for whatever differs from case to case; their meaning is their docstring.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from types import ModuleType

Arguments = Mapping[str, object]
Advice = Mapping[str, str]

NOTES = "Notes"

HEAD = """\
# Messages: what they mean, and what to do

Written by `scripts/update_docs.py` from the code; do not edit it by hand.

Search this page for the words you met. `{name}` stands for what differs from case to case.

| where you met it | what it is |
|---|---|
| `Error: ...` on standard error and exit code 2, `isError: true` of a tool, an exception in Python | [a refusal](#refusals-of-a-whole-call), or a lack of [set-up](#set-up) or of a [record](#records) |
| after `✗` in a summary, `errorMessage` of a result, exit code 1 | [the outcome of one task](#outcomes-of-a-task) |
| `notes` of a result | [a note](#notes): the result counts, and this is worth knowing |
| inside a prompt | [a placeholder](#placeholders-in-prompts) |

Exit codes: 0 all completed, 1 some task failed, 2 refused, 3 internal error, 130 interrupted.

## The exceptions

All can be caught as `pi_subagents.errors.SubagentsError`.
"""  # noqa: E501 - a row of a table is one line

# What a message says with other arguments than a placeholder for each.
OTHER_ARGUMENTS: Mapping[str, tuple[Arguments, ...]] = {
    "PiNotFound": ({"left_out": ()}, {}),
    "NodeNotFound": ({}, {"on_path": None}),
    "InstallFailed": (
        {"before": None},
        {"exit_code": None, "output": (), "before": None},
        {"before": SimpleNamespace(failure="{first step}", tail="\n  {its output}")},
    ),
    "UnknownSkills": ({}, {"available": ()}),
    "ProfileNotFound": ({}, {"available": ()}),
    "unknown_profile": ({}, {"available": ()}),
    "UnknownPreset": ({}, {"available": ()}),
    "unknown_file_field": ({}, {"close": ""}),
    "fields_conflict": ({"fields": ("{field}", "{other field}")},),
    "child_stopped_with": ({}, {"stop_reason": ""}),
    "child_ended_early": (
        {"signal_name": "", "has_spoken": False},
        {"signal_name": "", "has_spoken": True},
        {"has_spoken": False},
        {"has_spoken": True},
    ),
    "note_exit_after_answer": ({"signal_name": ""}, {}),
    "RunAmbiguous": ({"candidates": (("{id}", "{state}, {age} ago: {task}"),), "count": 1},),
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its texts (several where it depends), its meaning, and where it stands."""

    name: str
    texts: tuple[str, ...]
    meaning: str
    places: tuple[str, ...]  # the names of an exception and its bases; the section of others


@dataclass(frozen=True, slots=True)
class Group:
    """A chapter of the page: exceptions by their base, messages by how their section begins."""

    title: str
    about: str
    bases: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    def holds(self, message: Message) -> bool:
        """Tell whether a message belongs into this chapter."""
        by_base = any(base in message.places for base in self.bases)
        return by_base or message.places[0].startswith(self.sections)


GROUPS = (
    Group(
        "Refusals of a whole call",
        "Nothing was started: correct the call, then make it again. The command ends with exit "
        "code 2.",
        ("RequestError",),
        ("What can be wrong with a parameter",),
    ),
    Group(
        "Set-up",
        "Children cannot be run on this machine as it is. The command ends with exit code 2; "
        "`subagents doctor` tells more.",
        ("SetupError",),
        ("Why a pi command is unusable", "What is said of an installation of pi"),
    ),
    Group(
        "Records",
        "What was asked for is not there, or cannot be read or written. The command ends with exit "
        "code 2.",
        ("StoreError",),
    ),
    Group(
        "Outcomes of a task",
        "Why one task did not complete. Other tasks of the call are not affected, and each has a "
        "session id. The command ends with exit code 1.",
        sections=("Messages of outcomes",),
    ),
    Group(
        NOTES,
        "What is worth knowing about a result that counts nevertheless.",
        sections=(NOTES,),
    ),
    Group(
        "Placeholders in prompts",
        "What the sub-agent reads where a file could not be had.",
        sections=("Placeholders",),
    ),
    Group(
        "Profiles, presets and skills",
        "Problems in their files. A file with a fatal one is left out; where a profile that "
        "contradicts itself is used, the whole call is refused.",
        ("UnknownSkills", "SkillUnreadable", "FrontmatterError"),
        (
            "What can be wrong with the front matter",
            "What can be wrong with a profile or preset",
            "What is said of the profile a task names",
            "What is said of presets",
            "What there is to say about the tools",
            "Why an item of a profile's `extraArgs`",
        ),
    ),
    Group("Everything else", "What other places say."),  # whatever has no other chapter
)


class Number(int):
    """A number that stays a placeholder, whatever is computed with it."""

    label: str

    def __new__(cls, label: str) -> Self:
        """Return a number that is shown by a name."""
        number = super().__new__(cls, 1)
        number.label = label
        return number

    def __format__(self, spec: str) -> str:
        return f"{{{self.label}}}"

    def __neg__(self) -> Self:
        return self

    def __floordiv__(self, other: int) -> Self:
        return self


def errors_page(errors: ModuleType, messages: Iterable[ModuleType], advice: Advice) -> str:
    """Return docs/errors.md as it should be."""
    exceptions = exceptions_of(errors)
    others = [each for module in messages for each in messages_of(module)]
    parts = [HEAD, f"```text\n{_drawn_tree(errors)}\n```\n"]
    for group in GROUPS:
        parts += [f"## {group.title}\n", f"{group.about}\n"]
        parts += [_exception(each, advice) for each in exceptions if _group(each) is group]
        listed = [each for each in others if _group(each) is group]
        sections = dict.fromkeys(each.places[0] for each in listed)
        for section in sections:
            if group.bases or len(sections) > 1:  # else the chapter's title says it
                parts.append(f"### {section}\n")
            rows = [_row(each, advice) for each in listed if each.places[0] == section]
            parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def message_modules(package: Path) -> list[ModuleType]:
    """Return every module of messages: each stands beside what says them."""
    found = sorted(package.rglob("messages.py"))
    names = (path.relative_to(package.parent).with_suffix("").parts for path in found)
    return [import_module(".".join(parts)) for parts in names]


def exceptions_of(module: ModuleType) -> list[Message]:
    """Return every exception that has words of its own, in the order of their definition."""
    return [
        Message(name, texts_of(name, cls), _on_one_line(cls), tuple(c.__name__ for c in cls.mro()))
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and issubclass(cls, Exception) and "__init__" in vars(cls)
    ]


def messages_of(module: ModuleType) -> list[Message]:
    """Return every constant and function of a module of messages, in the order of their lines."""
    source = inspect.getsource(module)
    found = []
    for node in ast.parse(source).body:
        for name in _names(node):
            value = getattr(module, name)
            section = NOTES if name.lower().startswith("note_") else _section(source, node.lineno)
            if not section:  # said in passing: nobody will look it up
                continue
            texts = (value,) if isinstance(value, str) else texts_of(name, value)
            meaning = "" if isinstance(value, str) else _on_one_line(value)
            found.append(Message(name, texts, meaning, (section,)))
    return found


def texts_of(name: str, make: Callable[..., object]) -> tuple[str, ...]:
    """Return what a message says, with a placeholder for each argument."""
    usual = {
        key: _placeholder(key, str(parameter.annotation))
        for key, parameter in inspect.signature(make).parameters.items()
    }
    return tuple(str(make(**{**usual, **other})) for other in OTHER_ARGUMENTS.get(name, ({},)))


def _names(node: ast.stmt) -> list[str]:
    """Return the public names that a statement defines."""
    if isinstance(node, ast.FunctionDef):
        return [] if node.name.startswith("_") else [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _section(source: str, line: int) -> str:
    """Return the heading above a line: a comment between blank lines, if any."""
    above = "\n".join(source.split("\n")[: line - 1])
    headings = re.findall(r"(?<=\n\n)# (.+?)\.?\n\n", above + "\n")
    return headings[-1] if headings else ""


def _placeholder(name: str, annotation: str) -> Any:
    if annotation.startswith("tuple"):
        return (f"{{{name}}}",)
    if annotation.startswith(("int", "float")):
        return Number(name)
    return Exception(f"{{{name}}}") if annotation == "Exception" else f"{{{name}}}"


def _group(message: Message) -> Group:
    return next((group for group in GROUPS if group.holds(message)), GROUPS[-1])


def _on_one_line(described: object) -> str:
    """Return a docstring as the meaning of what it describes."""
    text = " ".join((inspect.getdoc(described) or "").split()).removeprefix("Return ")
    return text[:1].upper() + text[1:]


def _drawn_tree(errors: ModuleType) -> str:
    """Return the tree of exceptions, as the docstring of the module draws it."""
    return next(part for part in (errors.__doc__ or "").split("\n\n") if "\n  " in part)


def _exception(message: Message, advice: Advice) -> str:
    texts = "\n\n".join(message.texts)
    heard = _sentences(message.meaning, advice.get(message.name, ""))
    return f"### {message.name}\n\n```text\n{texts}\n```\n\n{heard}\n"


def _row(message: Message, advice: Advice) -> str:
    texts = " or ".join(_code(text) for text in message.texts)
    heard = _sentences(message.meaning, advice.get(message.name, ""))
    return f"- {texts}  \n  {heard}" if heard else f"- {texts}"


def _sentences(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def _code(text: str) -> str:
    """Return a text as Markdown shows it unchanged."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"
