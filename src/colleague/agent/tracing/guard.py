"""A trace that fails is left out; the work goes on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


def guarded(work: Callable[P, T]) -> Callable[P, T | None]:
    """The same, but an error is logged and None comes back."""

    @functools.wraps(work)
    def guard(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return work(*args, **kwargs)
        except Exception:
            log.exception("a trace is left out")
            return None

    return guard
