"""Calling a function of a plugin: whatever it does is its own failure, and it is given so much time."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

MOST_CHARS = 500


class PluginCallFailed(Exception):
    """The function raised an error; the message says which."""


class PluginCallLate(Exception):
    """The function was not done in time. What it does may go on."""


async def call_plugin(function: Callable[..., Any], *given: Any, seconds: float) -> Any:
    """What it returns. A plain function runs on a thread, so that it holds up nobody. Raises
    PluginCallFailed or PluginCallLate."""
    task = asyncio.ensure_future(_returned(function, given))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise PluginCallLate(f"it was not done within {seconds:g} s")
    if task.cancelled():
        raise PluginCallFailed("it was cancelled")
    value, error = task.result()
    if error is not None:
        raise PluginCallFailed(f"{type(error).__name__}: {error}"[:MOST_CHARS]) from error
    return value


async def _returned(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
    """The value or the error. Even `sys.exit` is only an error of the plugin."""
    if not inspect.iscoroutinefunction(function):
        return await _on_thread(function, given)
    try:
        return await function(*given), None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin does
        return None, error


async def _on_thread(
    function: Callable[..., Any], given: tuple[Any, ...]
) -> tuple[Any, BaseException | None]:
    """On a thread of its own, which no end of the process waits for."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((value, error))

    def work() -> None:
        value, error = None, None
        try:
            value = function(*given)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - whatever a plugin does
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="plugin", daemon=True).start()
    return await ended
