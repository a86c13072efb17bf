from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.mcp.support import Bench, marked, zombies


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench that must be left clean: no process of the test, no zombie, no record."""
    bench = Bench(tmp_path)
    yield bench
    deadline = time.monotonic() + 120
    while (marked(bench.mark) or zombies()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marked(bench.mark) == []
    assert zombies() == []
    assert list(tmp_path.glob("state/*.json")) == []
