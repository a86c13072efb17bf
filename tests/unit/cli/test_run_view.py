"""How a run looks that went on after a decision, whichever of its events are heard."""

from __future__ import annotations

from typing import Any, cast

import pytest

from colleague.cli.run_view import RunView
from colleague.run_document import RunDocument
from colleague.run_event import Kind, RunEvent

ABOUT = {"call_id": "call", "operation": "ledger.append"}
START: tuple[Kind, dict[str, Any]] = ("tool_execution_start", ABOUT | {"arguments": {"line": "die"}})
END: tuple[Kind, dict[str, Any]] = (
    "tool_execution_end",
    ABOUT | {"result": "", "is_error": False, "status": "finished", "seconds": 90.0},
)


def document() -> RunDocument:
    call = {"id": "call", "started_at": "2026-01-01T00:00:00+00:00", "result": None}
    levels = {"reasoning": "off", "verbose": "on"}
    known = {"id": "run", "kind": "expert", "model": "m", "expert": "clerk", "process": "work"}
    return cast(
        RunDocument,
        known | {"narrative": None, "turns": 1, "status": "running", "calls": [call]} | {"levels": levels},
    )


@pytest.mark.parametrize("heard", [(END,), (START, END)], ids=["end", "start-and-end"])
def test_a_call_that_had_begun_is_told_once(
    heard: tuple[tuple[Kind, dict[str, Any]], ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with RunView.open(quiet=False, works=True) as view:
        view.begin(document(), before=document())
        for kind, data in heard:
            view.show(RunEvent(kind, "run", data))
    assert capsys.readouterr().err.splitlines() == ["run run · m · clerk/work", "    ledger.append: finished"]


def test_a_step_that_is_not_there_gets_no_tick(capsys: pytest.CaptureFixture[str]) -> None:
    step = {"number": 1, "text": "Fetch the invoice.", "status": "open", "note": None}
    with RunView.open(quiet=False, works=True) as view:
        view.begin(cast(RunDocument, document() | {"steps": [step]}))
        for number in (1, 2, 0):
            data = {"call_id": f"mark {number}", "operation": "mark_step"}
            arguments = {"step": number, "status": "done"}
            view.show(RunEvent("tool_execution_start", "run", data | {"arguments": arguments}))
    assert [line for line in capsys.readouterr().err.splitlines() if "✓" in line] == [
        "  ✓ 1. Fetch the invoice"
    ]
