"""Arguments that no store, schema or terminal could take: the model is told, and the run goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.models import Model
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from colleague.agent.models.resolve import Routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.store.report import run_document
from colleague.store.run import Run
from colleague.store.sqlite import SqliteDatabase
from tests.integration.agent.stage import Ledger, Stage, Tiers

DEEP = 100_000
HOSTILE = {
    "half a character": '{"line": "\\ud83d"}',
    "half a character in a name": '{"line": "x", "\\udc00": 1}',
    "nested without end": '{"line": ' + "[" * DEEP + "]" * DEEP + "}",
    "nested too deep": '{"line": "x", "more": ' + "[" * 900 + "]" * 900 + "}",
    "no object": '["line"]',
    "no JSON": '{"line": "x"',
    "a number without end": '{"line": ' + "9" * 100_000 + "}",
    "nothing": "",
    "null": "null",
}


@dataclass(frozen=True)
class Raw:
    """A model that asks for one call with exactly these arguments, then ends."""

    arguments: str

    def open(self) -> Model:
        return FunctionModel(stream_function=self._play, model_name="raw")

    async def _play(self, messages: list[Any], _info: Any) -> AsyncIterator[Any]:
        if any(message.kind == "response" for message in messages):
            yield "Done."
        else:
            yield {1: DeltaToolCall("ledger__append", self.arguments, tool_call_id="one")}


async def perform(folder: Path, arguments: str) -> tuple[Run, Ledger, dict[str, Any]]:
    """The run, the ledger, and the run as people are shown it."""
    model = ResolvedModel("raw", "raw", stand_in=Raw(arguments))
    gate = Tiers({"ledger.append": "auto"})
    stage = Stage(
        folder,
        lambda clock: SqliteDatabase(folder / "db.sqlite", clock),
        "replies: [{text: x}]",
        gate=gate,
        run_spec={"routes": Routes((model,))},
    )
    async with stage:
        run = await stage.begin()
        document = await stage.database.read(lambda tx: run_document(tx, run.id))
        return run, stage.ledger, document


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_and_the_run_goes_on(name: str, tmp_path: Path) -> None:
    run, ledger, document = asyncio.run(perform(tmp_path, HOSTILE[name]))
    assert (run.outcome, run.narrative, run.stalls) == ("completed", "Done.", 0)
    assert ledger.lines == []
    [call] = document["calls"]
    assert (call["status"], call["is_error"]) == ("refused", True)
    json.dumps(document, ensure_ascii=False).encode()


def test_of_two_arguments_with_one_name_the_same_one_is_judged_and_sent(tmp_path: Path) -> None:
    run, ledger, document = asyncio.run(perform(tmp_path, '{"line": "shown", "line": "sent"}'))
    assert run.outcome == "completed"
    assert ledger.lines == ["sent"]
    assert document["calls"][0]["arguments"] == {"line": "sent"}


@given(st.text() | st.recursive(st.none() | st.text(), lambda each: st.lists(each)).map(json.dumps))
def test_whatever_is_taken_can_be_stored(raw: str) -> None:
    try:
        arguments = checked_arguments(ToolSpec("tool", "", {"type": "object"}), raw)
    except BadArguments as error:
        str(error).encode()
    else:
        json.dumps(arguments, ensure_ascii=False).encode()
