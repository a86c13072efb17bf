"""Threads that are there before they are needed: a machine may have no more."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor


def started_pool(count: int, name: str) -> ThreadPoolExecutor:
    """A pool that starts all its threads now. One that starts them later fails in the middle of the work when
    the machine has no more threads, and may do afterwards what it said that it could not."""
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)
    meeting = threading.Barrier(count + 1)
    try:
        for _ in range(count):
            pool.submit(meeting.wait)
        meeting.wait()
    except BaseException:
        meeting.abort()
        pool.shutdown(wait=False)
        raise
    return pool


def require_thread() -> None:
    """Raises RuntimeError when no thread can be started. asyncio starts one for each process, which waits for
    its end, and only after the process: without it that process would be nobody's."""
    threading.Thread(target=lambda: None, daemon=True).start()
