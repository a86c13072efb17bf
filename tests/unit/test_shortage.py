"""What is a shortage of the machine and what is not; and limits that follow from it."""

from __future__ import annotations

import asyncio
import errno
import resource
import threading

import pytest

from colleague.errors import ColleagueError
from colleague.gateway.limits import TURNS, Limits
from colleague.shortage import is_shortage
from colleague.threads import started_pool


def wrapped(error: Exception) -> Exception:
    try:
        try:
            raise error
        except type(error):
            raise ColleagueError("the file cannot be read") from None
    except ColleagueError as found:
        return found


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (OSError(errno.EMFILE, "Too many open files"), True),
        (OSError(errno.ENFILE, "Too many open files in system"), True),
        (RuntimeError("can't start new thread"), True),
        (MemoryError(), True),
        (ExceptionGroup("two", [ValueError("x"), OSError(errno.EMFILE, "x")]), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (FileNotFoundError(errno.ENOENT, "x"), False),
        (RuntimeError("something else"), False),
    ],
)
def test_a_shortage_is_recognised_also_inside_another_error(error: Exception, short: bool) -> None:
    assert is_shortage(error) is short
    assert is_shortage(wrapped(error)) is short


@pytest.mark.parametrize("descriptors", [64, 128, 160, 256, 1024, 4096, 65_536])
@pytest.mark.parametrize("servers", [0, 3, 20])
def test_callers_leave_descriptors_for_the_work(descriptors: int, servers: int) -> None:
    limits = Limits().within(descriptors, servers=servers, runs=32)
    taken = limits.connections + limits.accepted_at_once * TURNS
    assert 1 <= limits.accepted_at_once <= 64
    assert limits.connections >= descriptors // 8 or limits.connections == 1000
    assert taken <= max(descriptors - 64 - 8 * servers - 4 * 32, descriptors // 4)
    assert limits.connections <= 1000


def test_a_limit_that_was_set_lower_stays() -> None:
    assert Limits(connections=20).within(65_536, servers=0, runs=32).connections == 20


def test_a_pool_has_its_threads_before_there_are_no_more() -> None:
    async def go() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(started_pool(3, "early"))
        before = threading.stack_size(1 << 46)  # more than any machine has: no thread can be started
        try:
            with pytest.raises(RuntimeError, match="can't start new thread"):
                threading.Thread(target=print).start()
            names = await asyncio.gather(
                *(asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(20))
            )
            assert all(name.startswith("early") for name in names)
        finally:
            threading.stack_size(before)

    asyncio.run(go())


def test_the_limit_of_this_process_is_known() -> None:
    from colleague.descriptors import raise_descriptor_limit

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        limit = raise_descriptor_limit()
        assert before[0] <= limit or limit == 65_536
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
