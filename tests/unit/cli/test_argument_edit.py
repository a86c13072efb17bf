"""The arguments of a question in a person's editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from colleague.cli.argument_edit import ArgumentEdit
from colleague.errors import UsageError

ASKED: Any = {"arguments": {"amount": 5}, "operation": "invoices.add_fee", "parameters": None}


def test_an_editor_whose_path_has_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "Müllers Werkzeug" / "my editor"
    editor.parent.mkdir()
    editor.write_text("#!/bin/sh\nsed -i 's/5/7/' \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    edit = ArgumentEdit(ASKED)
    assert edit.changes() == {"amount": 7}
    edit.end(decided=True)


def test_an_editor_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "nanoo --wait")
    edit = ArgumentEdit(ASKED)
    with pytest.raises(UsageError, match=r"'nanoo --wait' cannot be started: No such file or directory$"):
        edit.changes()
    edit.end(decided=True)
