"""A model that wants very much at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from colleague.budget import Budget
from tests.integration.agent.stage import Stage, Tiers
from tests.integration.store.databases import Opener


def greedy(calls: int) -> str:
    wanted = [{"operation": "ledger.append", "arguments": {"line": str(number)}} for number in range(calls)]
    return json.dumps({"replies": [{"calls": wanted}, {"text": "Done."}]})


def play(opener: Opener, folder: Path, acts: Callable[[Stage], Awaitable[None]], script: str) -> None:
    async def go() -> None:
        auto = Tiers({"ledger.append": "auto"})
        async with Stage(folder, opener, script, gate=auto) as stage:
            await acts(stage)

    asyncio.run(go())


def test_a_budget_holds_within_one_answer(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.run_spec = {"run_budget": Budget(tool_calls=10)}
        run = await stage.begin()
        assert len(stage.ledger.lines) == 10
        assert (run.outcome, run.error) == ("failed", "the budget of the run is used up: 10 of 10 tool calls")
        calls = await stage.calls()
        assert len(calls) == 1000
        assert {call.status for call in calls[10:]} == {"refused"}
        assert "the budget of the run is used up" in str(calls[10].result)

    play(opener, tmp_path, acts, greedy(1000))


def test_a_budget_of_the_day_holds_over_runs(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.run_spec = {"day_budget": Budget(tool_calls=10)}
        await stage.begin()
        run = await stage.begin()
        assert len(stage.ledger.lines) == 10
        assert str(run.error).startswith("the budget of the day is used up")

    play(opener, tmp_path, acts, greedy(30))


def test_one_answer_has_a_limit_of_its_own(opener: Opener, tmp_path: Path) -> None:
    async def acts(stage: Stage) -> None:
        stage.run_spec = {"max_calls_per_answer": 20}
        run = await stage.begin()
        assert len(stage.ledger.lines) == 20
        assert run.outcome == "completed", "it is told, and goes on"
        assert "an answer may ask for 20 calls" in str((await stage.calls())[20].result)

    play(opener, tmp_path, acts, greedy(50))
