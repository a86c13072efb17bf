"""Every module that the code imports comes from a dependency that pyproject.toml declares."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def _declared(extras: tuple[str, ...]) -> set[str]:
    optional = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
    return {_name(text) for text in texts} | {name for text in texts for name in _brought_by_extra(text)}


def _brought_by_extra(text: str) -> Iterator[str]:
    """`pydantic-ai-slim[openai]` is how one asks for the packages of that extra."""
    extra = re.search(r"\[([\w-]+)\]", text)
    for each in requires(_name(text)) or () if extra and _name(text) != "colleague" else ():
        if re.search(rf"extra == ['\"]{extra[1] if extra else ''}['\"]", each):
            yield _name(each)


def undeclared(files: Iterator[Path], extras: tuple[str, ...]) -> list[str]:
    providers, declared = packages_distributions(), _declared(extras)
    found = []
    for file in files:
        for module, line in _imported(ast.parse(file.read_text())):
            names = {name.lower().replace("_", "-") for name in providers.get(module, ())}
            if module not in sys.stdlib_module_names and not names & declared:
                found.append(f"{file}:{line} imports {module} ({', '.join(names) or 'not installed'})")
    return found


def _imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno


def _own(found: list[str]) -> list[str]:
    return [each for each in found if " imports colleague " not in each]


def test_the_source_imports_only_what_it_declares() -> None:
    extras = ("anthropic", "browser", "google", "openai", "otel", "postgresql")
    assert _own(undeclared((ROOT / "src").rglob("*.py"), extras)) == []


def test_an_import_that_nobody_declares_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import json\nfrom pytest import raises\nimport nowhere_to_be_found\n")
    found = undeclared(tmp_path.rglob("*.py"), ())
    assert [each.rpartition(":")[2] for each in found] == [
        "2 imports pytest (pytest)",
        "3 imports nowhere_to_be_found (not installed)",
    ]
