"""What the pages for developers name is there: places in the code, and tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = ("architecture.md", "durable.md")
NAMED = re.compile(r"`((?:tests/)?[\w/]+\.py)(?:::([\w:]+))?`")


def named() -> list[tuple[str, str]]:
    pages = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES)
    return sorted(set(NAMED.findall(pages)))


def is_there(file: Path, names: str) -> bool:
    if not file.is_file():
        return False
    body: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    for name in names.split("::") if names else ():
        found = [each for each in body if name in _names(each)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def _names(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [str(getattr(statement, "name", "")), *(str(getattr(each, "id", "")) for each in targets)]


@pytest.mark.parametrize(("path", "names"), named())
def test_every_named_place_exists(path: str, names: str) -> None:
    below = ROOT if path.startswith("tests/") else ROOT / "src" / "colleague"
    assert is_there(below / path, names) or (not names and is_there(ROOT / path, ""))


def test_every_rule_of_the_store_names_a_test() -> None:
    page = (ROOT / "docs" / "durable.md").read_text(encoding="utf-8")
    rules = re.split(r"^\d+\. \*\*|^15\. \*\*\*", page, flags=re.MULTILINE)[1:]
    assert len(rules) == 36
    assert all(NAMED.search(rule) and "tests/" in rule for rule in rules)


def test_what_is_not_there_is_noticed() -> None:
    assert not is_there(ROOT / "src" / "colleague" / "store" / "accept.py", "accept_nothing")
    assert not is_there(ROOT / "src" / "colleague" / "nowhere.py", "")
