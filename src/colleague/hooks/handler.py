"""A function of a plugin that is called at a hook."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from colleague.errors import UsageError
from colleague.suggest import did_you_mean

HookFunction = Callable[[Any], Awaitable[Any] | Any]
SYNCHRONOUS = ("tool_result_persist",)
GUARDS = ("before_tool_call", "message_sending")
"""Hooks whose handlers may be required: what they guard does not happen without them."""


@dataclass(frozen=True, eq=False)
class HookHandler:
    """Higher priorities are called first. `required`: when it fails, what it guards does not happen."""

    plugin: str
    hook: str
    function: HookFunction
    priority: float = 0
    required: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for what can never be called."""
        from colleague.hooks.events import HOOKS

        if self.hook not in HOOKS:
            hint = did_you_mean(self.hook, HOOKS) or f"there are: {', '.join(HOOKS)}"
            raise UsageError(f"there is no hook {self.hook!r}", hint=hint)
        if not callable(self.function):
            raise UsageError(f"the handler of {self.hook} is no function")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int | float):
            raise UsageError(f"the priority of {self.hook} is no number")
        if self.hook in SYNCHRONOUS and inspect.iscoroutinefunction(self.function):
            raise UsageError(f"{self.hook} takes a plain function, not an async one")
        if self.required and self.hook not in GUARDS:
            raise UsageError(
                f"a handler of {self.hook} cannot be required", hint=f"of {' and '.join(GUARDS)}"
            )
