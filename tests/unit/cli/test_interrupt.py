"""What is said of a run when its command is interrupted."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.cli.interrupt import what_stays


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_run_that_this_process_worked_on_is_queued_again(status: str) -> None:
    run: Any = {"id": "0197a5f0-0000-7000-8000-00000000abcd", "status": status}
    assert what_stays(run, "") == "run 0000abcd stays queued; go on with: colleague run resume 0000abcd"
    assert what_stays(run, "the gateway").startswith("the gateway goes on with run 0000abcd")
