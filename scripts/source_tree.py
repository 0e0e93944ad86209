# ruff: noqa: INP001 - scripts are files, not a package
"""
The sources of the package as syntax trees, and what can be read from them without running any.

In: the directory `src` of a checkout.  Out: modules by name, who imports whom, types, their fields.
Imports are counted wherever they stand: at the top, inside a function, for types only.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = "pi_subagents"


class Tree:
    """Every module of the package, read once."""

    def __init__(self, source: Path = SOURCE) -> None:
        self.package = source / PACKAGE
        self.files = sorted(self.package.rglob("*.py"))
        self.texts = {path: path.read_text("utf-8") for path in self.files}
        self.modules = {
            ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path
            for path in self.files
        }

    @cached_property
    def parsed(self) -> dict[str, ast.Module]:
        """The syntax tree of every module, made when somebody asks: it takes a second."""
        return {name: ast.parse(self.texts[path], str(path)) for name, path in self.modules.items()}

    def place(self, module: str) -> str:
        """Return a module's path below the package."""
        return self.modules[module].relative_to(self.package).as_posix()

    def imports(self, module: str) -> set[str]:
        """Return our modules that one imports."""
        return {
            name for name in imported(self.parsed[module], self.modules) if name in self.modules
        }

    def cycles(self) -> list[list[str]]:
        """Return the groups of modules that import each other when run, not for types only."""
        graph = {
            module: {
                name
                for name in imported(without_types(tree), self.modules)
                if name in self.modules and name != module
            }
            for module, tree in self.parsed.items()
        }
        return circles(graph)

    def type_names(self) -> dict[str, list[str]]:
        """Return every type, with the modules that define one of that name."""
        homes: dict[str, list[str]] = {}
        for module, tree in self.parsed.items():
            for name in types_of(tree):
                homes.setdefault(name, []).append(module)
        return homes

    @cached_property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Every class that declares fields, as `path:Class`, with their names."""
        return {
            f"{self.place(module)}:{node.name}": fields_of(node)
            for module, tree in self.parsed.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and fields_of(node)
        }


def imported(tree: ast.AST, modules: Iterable[str]) -> Iterator[str]:
    """Yield every module that is imported anywhere in a file; `from package import module` too."""
    known = set(modules)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module or ""


def without_types(tree: ast.Module) -> ast.Module:
    """Return a module without what only a type checker reads."""

    class Runs(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                return None
            return self.generic_visit(node)

    copied = ast.parse(ast.unparse(tree))
    Runs().visit(copied)
    return copied


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of a graph that have more than one member (Tarjan)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for each in sorted(graph):
        if each not in number:
            visit(each)
    return sorted(found)


def types_of(tree: ast.Module) -> Iterator[str]:
    """Yield the types that a module defines, aliases included."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper() and len(name) > 1:
                yield name


def fields_of(node: ast.ClassDef) -> tuple[str, ...]:
    """Return the names that a class declares with a type."""
    return tuple(
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    )


def words(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield every literal text of a file that is no docstring."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    yield from (
        node for node in texts if isinstance(node.value, str) and id(node) not in docstrings
    )


_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OF_VERSIONS = re.compile(r"version|_SINCE", re.IGNORECASE)
_A_VERSION = re.compile(r"v?\d+(\.\d+)+")


def version_comparisons(tree: ast.AST) -> Iterator[str]:
    """Yield what depends on which version something is, and not on what it can do."""
    yield from (ast.unparse(node) for node in ast.walk(tree) if _compares_versions(node))


def _compares_versions(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left, operators, others):
            texts = (str(each.value) for side in (left, *others) for each in words(side))
            if any(_A_VERSION.fullmatch(text) for text in texts):
                return True
            ordered = any(isinstance(each, _ORDERING) for each in operators)
            return ordered and bool(_OF_VERSIONS.search(ast.unparse(node)))
        case ast.Call(ast.Attribute(value, "startswith" | "split" | "partition")):
            return bool(_OF_VERSIONS.search(ast.unparse(value)))
        case ast.Call(ast.Name("PiTraits") | ast.Attribute(_, "PiTraits")):
            return True
        case ast.Name("version_numbers", ast.Load()) | ast.Attribute(_, "version_numbers"):
            return True
        case _:
            return False
