"""
Write an order for a worker as bytes, and read one that came from another machine.

In: a TravelOrder, or bytes from anybody.  Out: the other; OrderRefused, with place and reason, for
whatever is not exactly one of ours: unknown fields, sizes, names, paths that lead elsewhere.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, cast

from pi_subagents.core.cluster import messages
from pi_subagents.core.cluster.limits_json import check_from, limits_from, limits_to_json
from pi_subagents.core.cluster.order import (
    BUNDLE,
    FORMAT,
    MAX_ORDER_BYTES,
    MAX_PROMPT,
    MAX_SKILL_FILES,
    MAX_SKILLS,
    MAX_SKILLS_BYTES,
    MAX_TEXT,
    NOWHERE,
    SHARED_PATH,
    WORKSPACE_KINDS,
    TravelFile,
    TravelOrder,
    TravelSkill,
    TravelWork,
    TravelWorkspace,
)
from pi_subagents.core.cluster.profile_json import profile_from, profile_to_json
from pi_subagents.core.cluster.reading import Members
from pi_subagents.core.run.spec import RESUME_WAYS, ResumeOrder
from pi_subagents.core.value import as_dict
from pi_subagents.core.workspace.bundle import bundles_from_json, bundles_to_json
from pi_subagents.errors import OrderRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.workspace.bundle import Bundle

RUN_ID = re.compile(r"[0-9a-f]{32}")
_SESSION_ID = re.compile(r"[0-9a-f]{16}")
_ENGINE = re.compile(r"[a-z0-9][a-z0-9._:-]{0,79}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_ONE_LINE = re.compile(r"[^\x00-\x1f\x7f]*")
_MAX_PATH = 4096
_MAX_NOTES = 64
_MAX_NOTE = 64 * 1024
_MAX_PATCH_BYTES = 100_000 * 1024 * 1024
_ORDER = "order"


def order_to_bytes(order: TravelOrder) -> bytes:
    """Return the order as it travels."""
    work, workspace = order.work, order.workspace
    content = {
        **as_dict(order),
        "work": {
            **as_dict(work),
            "profile": profile_to_json(work.profile) if work.profile else None,
            "skills": [
                {"name": skill.name, "files": [as_dict(file) for file in skill.files]}
                for skill in work.skills
            ],
            "check": as_dict(work.check),
        },
        "limits": limits_to_json(order.limits),
        "resume": as_dict(order.resume),
        "workspace": {**as_dict(workspace), "packs": bundles_to_json(workspace.packs)},
    }
    named = {_camel(name): _camelled(found) for name, found in content.items()}
    return json.dumps({"v": FORMAT, **named}, separators=(",", ":")).encode("ascii")


def order_from_bytes(content: bytes) -> TravelOrder:
    """Return the order that these bytes are."""
    if len(content) > MAX_ORDER_BYTES:
        raise OrderRefused(_ORDER, messages.too_long(len(content), MAX_ORDER_BYTES))
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise OrderRefused(_ORDER, messages.NOT_JSON) from None
    if isinstance(found, dict) and found.get("v") != FORMAT:
        raise OrderRefused(_ORDER, messages.OF_OTHER_FORMAT)
    known = Members.of(found, _ORDER, ("v", *map(_camel, TravelOrder.__match_args__)))
    return TravelOrder(
        run_id=known.required("runId", 32, RUN_ID),
        session_id=known.required("sessionId", 16, _SESSION_ID),
        work=_work(known.content.get("work"), known.at("work")),
        limits=limits_from(known.content.get("limits", {}), known.at("limits")),
        resume=_resume(known.content.get("resume", {}), known.at("resume")),
        session=known.text("session", 64, _DIGEST),
        workspace=_workspace(known.content.get("workspace", {}), known.at("workspace")),
        attached=known.flag("attached", default=True),
        made_by=known.text("madeBy", 80, _ONE_LINE),
    )


def _work(given: object, where: str) -> TravelWork:
    known = Members.of(given, where, TravelWork.__match_args__)
    profile = known.content.get("profile")
    work = TravelWork(
        name=known.required("name", messages.MAX_NAME),
        prompt=known.required("prompt", MAX_PROMPT),
        task=known.text("task", MAX_PROMPT),
        engine=known.text("engine", 80, _ENGINE),
        profile=None if profile is None else profile_from(profile, known.at("profile")),
        skills=_skills(known),
        schema=_json_text(known, "schema"),
        check=check_from(known.content.get("check", {}), known.at("check")),
        trusted=known.flag("trusted"),
        offline=known.flag("offline"),
        script=_json_text(known, "script"),
        notes=known.texts("notes", _MAX_NOTES, _MAX_NOTE),
    )
    if work.script and not work.offline:
        raise OrderRefused(known.at("script"), messages.CONTRADICTS_OFFLINE)
    return work


def _json_text(known: Members, key: str) -> str:
    """Return a text that is JSON, or nothing."""
    text = known.text(key, MAX_TEXT)
    try:
        if text:
            json.loads(text)
    except (ValueError, RecursionError):
        raise OrderRefused(known.at(key), messages.NOT_JSON) from None
    return text


def _skills(known: Members) -> tuple[TravelSkill, ...]:
    skills = tuple(_skill(each, where) for where, each in known.entries("skills", MAX_SKILLS))
    size = sum(len(file.text.encode()) for skill in skills for file in skill.files)
    if size > MAX_SKILLS_BYTES:
        raise OrderRefused(known.at("skills"), messages.too_long(size, MAX_SKILLS_BYTES))
    if len({skill.name for skill in skills}) < len(skills):
        raise OrderRefused(known.at("skills"), messages.TWICE)
    return skills


def _skill(given: object, where: str) -> TravelSkill:
    skill = Members.of(given, where, TravelSkill.__match_args__)
    name = skill.required("name", messages.MAX_NAME)
    if inside(name) != name or "/" in name:
        raise OrderRefused(skill.at("name"), messages.LEADS_ELSEWHERE)
    files = []
    for place, each in skill.entries("files", MAX_SKILL_FILES):
        file = Members.of(each, place, TravelFile.__match_args__)
        path = file.required("path", _MAX_PATH)
        if inside(path) != path or path == ".":
            raise OrderRefused(file.at("path"), messages.LEADS_ELSEWHERE)
        files.append(TravelFile(path, file.text("text", MAX_TEXT)))
    _refuse_collisions([file.path for file in files], skill.at("files"))
    return TravelSkill(name, tuple(files))


def _refuse_collisions(paths: Sequence[str], where: str) -> None:
    """Refuse files that cannot all be there: two of one name, or one that is a directory."""
    known = set(paths)
    above = {path[:end] for path in paths for end, at in enumerate(path) if at == "/"}
    if len(known) < len(paths) or known & above:
        raise OrderRefused(where, messages.TWICE)


def inside(path: str) -> str:
    """Return a relative path in its plain form; nothing where it leads elsewhere."""
    plain = posixpath.normpath(path)
    is_ours = _ONE_LINE.fullmatch(path) and "\\" not in path
    leads_on = plain.startswith("/") or ".." in plain.split("/") or plain == ".."
    return plain if is_ours and not leads_on else ""


def _resume(given: object, where: str) -> ResumeOrder:
    resume = Members.of(given, where, ResumeOrder.__match_args__)
    how = resume.text("how", 16)
    if how not in ("", *RESUME_WAYS):
        raise OrderRefused(resume.at("how"), messages.UNKNOWN_WORD)
    return ResumeOrder(how, resume.text("why", _MAX_NOTE), resume.text("model", MAX_TEXT))


def _workspace(given: object, where: str) -> TravelWorkspace:
    names = TravelWorkspace.__match_args__
    known = Members.of(given, where, tuple(map(_camel, names)))
    kind = known.text("kind", 16) or NOWHERE
    if kind not in WORKSPACE_KINDS:
        raise OrderRefused(known.at("kind"), messages.UNKNOWN_WORD)
    prefix, path = known.text("prefix", _MAX_PATH), known.text("path", _MAX_PATH)
    if prefix and inside(prefix) != prefix:
        raise OrderRefused(known.at("prefix"), messages.LEADS_ELSEWHERE)
    if path and (not path.startswith("/") or ".." in path.split("/")):
        raise OrderRefused(known.at("path"), messages.NEEDS_ABSOLUTE)
    found = TravelWorkspace(
        kind=kind,
        packs=_packs(known),
        tree=known.text("tree", 64, _COMMIT),
        prefix=prefix,
        path=path,
        max_bytes=known.whole("maxBytes", _MAX_PATCH_BYTES),
        keep=known.flag("keep"),
        setup=known.text("setup", MAX_TEXT),
    )
    fits = {
        NOWHERE: found == TravelWorkspace(),
        BUNDLE: bool(found.packs) and not path,
        SHARED_PATH: bool(path) and not found.packs,
    }
    if not fits[kind]:
        raise OrderRefused(where, messages.CONTRADICTS)
    return found


def _packs(known: Members) -> tuple[Bundle, ...]:
    try:
        return bundles_from_json(known.content["packs"]) if known.content.get("packs") else ()
    except ValueError as wrong:
        raise OrderRefused(known.at("packs"), messages.wrong_packs(str(wrong))) from None


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def _camelled(found: object) -> Any:
    """Return a value with the names of its fields as JSON has them."""
    if isinstance(found, dict):
        return {_camel(name): each for name, each in cast("dict[str, object]", found).items()}
    return found
