"""Tasks that work by themselves: what dies is started again, and is seen."""

from __future__ import annotations

import asyncio

from colleague import background_tasks
from colleague.background_tasks import BackgroundTasks


def test_one_that_fails_is_started_again_and_counted() -> None:
    async def go() -> None:
        tasks, tries, works = BackgroundTasks(first_pause=0.001), [], asyncio.Event()

        async def work() -> None:
            tries.append(1)
            if len(tries) < 3:
                raise OSError(24, "Too many open files")
            works.set()
            await asyncio.Event().wait()

        tasks.start("clerk", work)
        async with asyncio.timeout(240):
            await works.wait()
        assert tasks.restarts == {"clerk": 2}
        assert tasks.failing == []
        await tasks.stop()
        assert tasks.failing == []

    asyncio.run(go())


def test_one_that_keeps_dying_is_failing_until_it_has_worked_for_a_while() -> None:
    async def go() -> None:
        tasks, tries, works = BackgroundTasks(first_pause=0.001), [], asyncio.Event()

        async def work() -> None:
            tries.append(1)
            if len(tries) <= background_tasks.FAILING_AFTER:
                raise RuntimeError("can't start new thread")
            works.set()
            await asyncio.Event().wait()

        tasks.start("clerk", work)
        tasks.start("other", lambda: asyncio.sleep(1000))
        async with asyncio.timeout(240):
            await works.wait()
        assert tasks.failing == ["clerk"]
        tasks._watched["clerk"].began -= background_tasks.HEALTHY_AFTER
        assert tasks.failing == []
        await tasks.stop("clerk", "other")

    asyncio.run(go())


def test_a_cancel_from_inside_does_not_end_it_and_one_from_outside_does() -> None:
    async def go() -> None:
        tasks, tries, works = BackgroundTasks(first_pause=0.001), [], asyncio.Event()

        async def work() -> None:
            tries.append(1)
            if len(tries) == 1:
                raise asyncio.CancelledError  # as some libraries do when a connection ends
            works.set()
            await asyncio.Event().wait()

        task = tasks.start("clerk", work)
        async with asyncio.timeout(240):
            await works.wait()
        await tasks.stop("clerk")
        assert task.cancelled()

    asyncio.run(go())


def test_one_that_is_dead_is_failing_and_one_that_ended_on_purpose_is_not() -> None:
    async def go() -> None:
        tasks = BackgroundTasks()
        dead = tasks.start("dead", lambda: asyncio.sleep(1000))
        done = tasks.start("done", lambda: asyncio.sleep(0))
        await done
        dead.cancel()
        await asyncio.wait([dead])
        assert tasks.failing == ["dead"]

    asyncio.run(go())
