"""One expert with a long queue never starves another."""

from __future__ import annotations

import asyncio

from colleague.store.claims import Taken
from colleague.store.worker import Worker
from tests.finish import finish
from tests.integration.triggers.desk import Desk, webhook

QUEUED = 200


def test_two_hundred_runs_of_one_expert_do_not_starve_the_others(desk: Desk) -> None:
    async def acts() -> None:
        for name in ("busy", "calm", "zeal"):
            desk.employ(webhook(concurrency="parallel"), name=name)
        starts: list[str] = []
        all_came = asyncio.Event()
        async with desk.open() as office:
            for number in range(QUEUED):
                await office.fire({"id": number}, expert="busy")

            async def advance(taken: Taken) -> None:
                starts.append(taken.run.expert)
                if len(starts) == 20:
                    for name in ("zeal", "calm") * 5:
                        await office.fire({}, expert=name)
                    all_came.set()
                elif len(starts) > 20:
                    await all_came.wait()
                await office.database.write(lambda tx: finish(tx, taken.hold, "completed"))

            worker = Worker(office.database, advance, limit=2)
            working = asyncio.create_task(worker.run())
            async with asyncio.timeout(240):
                while len(starts) < QUEUED + 10:
                    await asyncio.sleep(0.02)
            worker.stop()
            await working
        others = [place for place, name in enumerate(starts) if name != "busy"]
        assert len(others) == 10
        assert others[-1] < 20 + 2 + 15, f"they take turns: {others}"

    asyncio.run(acts())
