"""Ctrl-C in a command that waits: what it did is given back, and it says how to go on."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from colleague.run_document import RunDocument, short

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLOSING_SECONDS = 5.0
"""For what is closed after an interruption, such as MCP servers; the runs are given back first."""


class Interrupted(SystemExit):
    """A person ended the command. What there is to say has been said."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def run_interruptibly(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """As asyncio.run. The first signal cancels the work, which gives back its runs; further ones change
    nothing, or a run would stay claimed by a process that is gone. Raises Interrupted."""
    received: list[int] = []

    async def go() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - inside a coroutine there is one

        def interrupt(number: int) -> None:
            if not received:
                received.append(number)
                _end_after(CLOSING_SECONDS, 128 + number)
                task.cancel()

        handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in handled:
            loop.add_signal_handler(number, interrupt, number)
        return await work()

    try:
        return asyncio.run(go())
    except asyncio.CancelledError:
        if received:
            raise Interrupted(received[0]) from None
        raise


def what_stays(run: RunDocument, worker: str) -> str:
    """`worker` goes on with it; empty: nobody does."""
    ending = short(run["id"])
    if run["status"] == "done":
        return f"run {ending} has ended already: {run['outcome']}"
    if run["status"] == "waiting":
        return f"run {ending} waits for you: colleague approval list"
    if worker:
        return f"{worker} goes on with run {ending}; watch: colleague run watch {ending}"
    state = "queued" if run["status"] == "running" else run["status"]  # it is given back as this ends
    return f"run {ending} stays {state}; go on with: colleague run resume {ending}"


def _end_after(seconds: float, code: int) -> None:
    """Whatever hangs while it is closed."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
