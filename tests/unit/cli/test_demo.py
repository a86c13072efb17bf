"""What the demo tells to type next."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.cli.demo import typed_program


@pytest.mark.parametrize(
    ("typed", "on_path", "program"),
    [
        (".venv/bin/colleague", False, ".venv/bin/colleague"),
        (".venv/bin/colleague", True, "colleague"),
        ("/usr/lib/colleague/__main__.py", False, "colleague"),
    ],
)
def test_it_can_be_typed_as_it_stands(
    typed: str, on_path: bool, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if on_path:
        (tmp_path / "colleague").touch(0o755)
    assert typed_program(typed) == program
