from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.core.cluster.order import TravelFile, TravelSkill
from pi_subagents.errors import CannotTravel
from pi_subagents.service.cluster.skills_to_send import skills_to_send

if TYPE_CHECKING:
    from pathlib import Path


def skill(home: Path, **files: Any) -> str:
    home.mkdir(parents=True)
    for name, content in {"SKILL.md": "# Tidy", **files}.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(home / "SKILL.md")


def test_a_skill_travels_with_the_files_beside_it(tmp_path: Path) -> None:
    path = skill(tmp_path / "tidy", **{"more/rules.md": "Be tidy."})
    assert skills_to_send("t", [path]) == (
        (TravelSkill("tidy", (TravelFile("SKILL.md", "# Tidy"), TravelFile("more/rules.md", "Be tidy."))),),
        (),
    )  # fmt: skip


def test_what_is_no_text_stays_and_that_is_said(tmp_path: Path) -> None:
    path = skill(tmp_path / "tidy", **{"logo.png": b"\x89PNG\xff", "nul.txt": "a\0b"})
    (found,), notes = skills_to_send("t", [path])
    assert [file.path for file in found.files] == ["SKILL.md"]
    assert notes == (
        "The file logo.png of the skill tidy is not text that travels, and stays here.",
        "The file nul.txt of the skill tidy is not text that travels, and stays here.",
    )


def test_links_and_hidden_directories_stay(tmp_path: Path) -> None:
    path = skill(tmp_path / "tidy", **{".git/config": "secret"})
    (tmp_path / "key").write_text("secret")
    (tmp_path / "tidy" / "key").symlink_to(tmp_path / "key")
    (found,), _ = skills_to_send("t", [path])
    assert [file.path for file in found.files] == ["SKILL.md"]


def test_a_skill_of_one_file_and_two_of_one_name(tmp_path: Path) -> None:
    alone = tmp_path / "tidy.md"
    alone.write_text("# Alone")
    paths = [str(alone), skill(tmp_path / "a" / "tidy"), skill(tmp_path / "b" / "tidy")]
    found, _ = skills_to_send("t", paths)
    assert [each.name for each in found] == ["tidy", "tidy-", "tidy--"]


def test_a_skill_that_is_gone_keeps_its_task_here(tmp_path: Path) -> None:
    with pytest.raises(CannotTravel) as refused:
        skills_to_send("look", [str(tmp_path / "gone.md")])
    assert str(refused.value) == (
        "The task look cannot run in a cluster: its skill gone cannot be read: "
        "No such file or directory."
    )
