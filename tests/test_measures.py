"""The scripts that measure the house see what they say they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripts import measures, trip
from scripts.source_tree import PACKAGE, Tree

if TYPE_CHECKING:
    from pathlib import Path


def test_the_trip_begins_at_the_verb_and_ends_at_the_supervisor() -> None:
    stops = trip.trip()
    assert (stops[0].file, stops[0].functions) == ("faces/cli/work/run.py", ["run"])
    assert stops[-1].functions[-1] == "ForkServer.fork"
    assert "store/run_store.py" in {asked for stop in stops for asked in stop.asks}


def test_a_trip_is_counted_with_its_returns() -> None:
    stops = [
        trip.Stop("a.py", ["f", "g"]),
        trip.Stop("b.py", ["h"]),
        trip.Stop("a.py", ["C.__init__"]),
    ]
    assert trip.counted(stops) == (4, 2, 1)
    assert trip.picture(stops).splitlines()[-1] == "| `a.py` | `C` |  |"


def small_house(tmp_path: Path, **files: str) -> Tree:
    """Write a package; `__` in a name is a folder's end."""
    package = tmp_path / PACKAGE
    extension = package / "pi_extension"
    extension.mkdir(parents=True)
    (extension / "tools.json").write_text(
        '{"tools": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}'
    )
    (package / "__init__.py").touch()
    for name, source in files.items():
        path = package / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source)
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("def f():\n    from pi_subagents.engines.pi import rpc", "engines.pi.rpc"),
        ('KIND = "pi"', '"pi"'),
        ('argv = ["--no-session"]', '"--no-session"'),
        ('if kind == "agent_end": pass', '"agent_end"'),
        ('path = home / ".pi" / "x"', '".pi"'),
        ('env["PI_CODING_AGENT_DIR"]', '"PI_CODING_AGENT_DIR"'),
        ("def usage_for_pi(): pass", "usage_for_pi"),
        ("class PiThing: pass", "PiThing"),
        ("call(pi_version=1)", "pi_version"),
        ('if "No API key found" in text: pass', '"No API key found"'),
        ('"""About pi."""\nSAID = "pi has no model; see ~/.pi"\nOURS = "PI_SUBAGENTS_DATA"', ""),
    ],
)
def test_a_file_that_knows_pi_is_seen(tmp_path: Path, source: str, known: str) -> None:
    house = small_house(tmp_path, engines__pi__rpc='A = "pi"', service__x=source)
    assert measures.knows_pi(house) == ([f"service/x.py: {known}"] if known else [])


def test_circles_shapes_names_and_tables_are_seen(tmp_path: Path) -> None:
    house = small_house(
        tmp_path,
        core__a="class Twice: pass\ndef f():\n    from pi_subagents.store import b",
        store__b=(
            "from pi_subagents.core import a\nclass Twice: pass\n"
            "class Copy:\n    run_id: str\n    name: str\n    status: str\n    usage: int\n    cwd: str"
        ),
        service__o="class Caller:\n    cwd: str\n    env: str\nclass Options(Caller):\n    stop: int",
        service__t='A = "a"\nTABLE = {A: 1, "b": 2, "c": 3}\nSOME = ("a", "b")',
    )
    found = {each.name: each.now for each in measures.measures(house) if each.target is not None}
    assert found == {
        "files that know pi outside its folders": 0,
        "modules at the package's root": 1,
        "files in the fullest folder": 2,
        "import circles of modules": 1,
        "rooms that import each other": 2,
        "type names defined twice": 1,
        "shapes of a run": 1,
        "tables of tools": 1,
        "lines of the longest file": 7,
    }
