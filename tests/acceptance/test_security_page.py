"""The page on security names threats, and tests that try them; each of those tests exists."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
TABLES = 8


def rows() -> list[list[str]]:
    """The rows of the tables that end with a test."""
    _, _, tables = PAGE.read_text().partition("## Threats and tests")
    lines = [line for line in tables.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not _is_head(line)]


def _is_head(line: str) -> bool:
    return line.startswith("| threat |")


def test_every_threat_has_what_holds_it_and_a_test() -> None:
    assert len(rows()) > 30
    for threat, holds, tests in rows():
        assert threat
        assert holds
        assert NAMED.findall(tests), f"no test tries: {threat}"
        assert NAMED.sub("", tests).strip(", ") == "", f"a test that cannot be read: {threat}"


def test_every_attacker_has_a_table() -> None:
    _, _, tables = PAGE.read_text().partition("## Threats and tests")
    titles = re.findall(r"^### (.+)$", tables, re.MULTILINE)
    assert len(titles) == TABLES
    assert tables.count("| threat | what holds it | test that tries it |") == TABLES


@pytest.mark.parametrize("named", sorted({"::".join(each) for each in NAMED.findall(PAGE.read_text())}))
def test_every_test_that_is_named_exists(named: str) -> None:
    assert is_test(named)


def is_test(named: str) -> bool:
    path, *names = named.split("::")
    file = ROOT / path
    if not file.is_file() or not names[-1].startswith("test_"):
        return False
    body: list[ast.stmt] = ast.parse(file.read_text()).body
    for name in names:
        found = [each for each in body if getattr(each, "name", None) == name]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def test_a_test_that_does_not_exist_is_noticed() -> None:
    assert is_test("tests/acceptance/test_security_page.py::test_every_attacker_has_a_table")
    assert is_test("tests/acceptance/test_hostile.py::TestWhatElse::test_a_waiting_run_is_not_completed")
    for named in (
        "tests/acceptance/test_security_page.py::test_nothing",
        "tests/acceptance/test_security_page.py::rows",
        "tests/acceptance/test_nothing.py::test_x",
        "tests/acceptance/test_hostile.py::test_a_waiting_run_is_not_completed",
    ):
        assert not is_test(named), named
