"""The reference pages say what the code says."""

from __future__ import annotations

import importlib.util

import pytest

from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
assert SPEC
assert SPEC.loader
reference = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reference)


@pytest.mark.parametrize("name", ["commands.md", "settings.md", "findings.md"])
def test_the_page_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == reference.pages()[name], "run: make docs"


def test_every_command_has_help() -> None:
    page = reference.pages()["commands.md"]
    assert "## colleague expert install SOURCE" in page
    assert ": \n" not in page
