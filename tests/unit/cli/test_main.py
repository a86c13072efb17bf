"""What the command says of an error that no part of it expected."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from colleague.cli import main
from colleague.cli.typed import TypedCommand


def test_a_full_disk_names_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("colleague.cli.typed._typed", TypedCommand())  # what is remembered here ends here
    monkeypatch.setattr("sys.argv", ["colleague", "status", "--home", str(tmp_path)])
    monkeypatch.setattr("colleague.cli.app.build_app", lambda *_: full)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    assert f"make room on the disk of {tmp_path}" in capsys.readouterr().err
