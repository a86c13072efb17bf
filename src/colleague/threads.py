"""Thread pools whose threads are there from the start."""

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
