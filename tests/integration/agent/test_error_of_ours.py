"""An error in our own code, met while a run is prepared, is a failed attempt like any other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.run_spec import RunSpec
from colleague.store.run import Run
from tests.integration.agent.stage import Stage
from tests.integration.store.databases import Opener


@dataclass
class BrokenStage(Stage):
    tries: int = 0

    async def assemble(self, run: Run) -> RunSpec:
        self.tries += 1
        raise TypeError("a text that may be anybody's secret")


def test_it_is_tried_with_pauses_and_ends_as_a_dead_letter(opener: Opener, tmp_path: Path) -> None:
    async def go() -> None:
        async with BrokenStage(tmp_path, opener, "replies: []") as stage:

            async def pass_time() -> None:
                while True:
                    await asyncio.sleep(0.02)
                    stage.clock.move(seconds=5)

            passing = asyncio.create_task(pass_time())
            try:
                run = await asyncio.wait_for(stage.begin(), 90)
            finally:
                passing.cancel()
            assert (run.outcome, stage.tries, run.attempt) == ("dead_letter", 3, 3)
            assert "by an error of Colleague itself (TypeError)" in str(run.error)
            assert "secret" not in str(run.error)
            pauses = [each.data["in_ms"] for each in stage.events if each.data.get("status") == "retrying"]
            assert pauses == [30_000, 60_000]

    asyncio.run(go())
