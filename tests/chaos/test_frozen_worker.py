"""A worker frozen in the middle of a call, past its lease, taken over, and woken again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.chaos.test_turn_kills import make_home
from tests.conftest import ROOT
from tests.integration.store.databases import new_database


def begin(home: Path, slow: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.chaos.drive", str(home), "script/turn.yaml", "--decide"]
    settings = json.loads((home / "colleague.json").read_text())
    settings["mcp"]["servers"]["ledger"]["env"] = {"LEDGER_SLOW": slow}
    (home / "colleague.json").write_text(json.dumps(settings))
    return subprocess.Popen(
        [*command, "--lease", "3000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        cwd=ROOT,
    )


def wait_for_line(ledger: Path, line: str) -> None:
    deadline = time.monotonic() + 240
    while not (ledger.exists() and line in ledger.read_text().split("\n")):
        assert time.monotonic() < deadline, "the effect never came"
        time.sleep(0.02)


def test_nothing_is_overwritten_and_nothing_is_sent_twice(tmp_path: Path, postgres_url: str) -> None:
    with new_database(postgres_url) as url:
        freeze_and_thaw(make_home(tmp_path / "home", url))


def freeze_and_thaw(home: Path) -> None:
    frozen = begin(home, "2")
    wait_for_line(home / "ledger.txt", "two")
    frozen.send_signal(signal.SIGSTOP)
    other = begin(home, "0")
    said, errors = other.communicate(timeout=120)
    assert other.returncode == 0, errors[-1000:]
    assert json.loads(said)["outcome"] == "completed"
    frozen.send_signal(signal.SIGCONT)
    woken, errors = frozen.communicate(timeout=240)
    assert frozen.returncode == 0, errors[-1000:]
    assert json.loads(woken)["outcome"] == "completed"
    lines = Counter((home / "ledger.txt").read_text().splitlines())
    assert lines == {"one": 1, "two": 1, "three": 1}
    assert len((home / "asked.jsonl").read_text().splitlines()) == 3
