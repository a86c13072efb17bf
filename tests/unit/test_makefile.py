"""What `make` would do, without doing it."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.conftest import ROOT


def planned(target: str) -> list[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    asked = ["make", "--dry-run", "--no-print-directory", target]
    done = subprocess.run(asked, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_install_brings_no_development_tools_and_says_what_is_next() -> None:
    setup, *rest = planned("install")
    assert setup == "scripts/setup"
    assert rest == ["echo 'Next: make demo, or type .venv/bin/colleague init'"]


def test_the_demo_needs_no_more_than_that() -> None:
    assert planned("demo") == ["scripts/setup", ".venv/bin/colleague demo"]


@pytest.mark.parametrize("target", ["test", "lint", "types", "suite", "bench", "format", "docs"])
def test_what_needs_them_brings_them(target: str) -> None:
    assert planned(target)[0] == "scripts/setup dev"
