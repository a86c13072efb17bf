"""Errors that say the machine is short of something now: descriptors, threads, memory. They pass."""

from __future__ import annotations

import errno
from collections.abc import Iterator

_NUMBERS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS))
_NO_THREAD = "can't start new thread"


def is_shortage(error: BaseException) -> bool:
    """Whether the error, or what it was raised from, is a shortage: the same work may succeed later."""
    return any(_is_one(each) for each in _causes(error, set()))


def raise_shortage(error: Exception) -> None:
    """For what is no fault of the work at hand: whoever gave it tries again."""
    if is_shortage(error):
        raise error


def _is_one(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NUMBERS
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and str(error) == _NO_THREAD)


def _causes(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    if id(error) in seen:
        return
    seen.add(id(error))
    yield error
    inside = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (error.__cause__, error.__context__, *inside):
        if each is not None:
            yield from _causes(each, seen)
