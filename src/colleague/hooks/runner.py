"""Calling the handlers of plugins: errors are caught and reported, each call is limited in time."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.hooks.results import BadHookResult, read_result

if TYPE_CHECKING:
    from colleague.hooks.events import (
        BeforeAgentStart,
        BeforeToolCall,
        HookEvent,
        MessageSending,
        ToolResultPersist,
    )
    from colleague.hooks.handler import HookHandler

log = logging.getLogger(__name__)

SECONDS = 5.0
MOST_HANGS = 3
"""A handler that was not done in time so often, with no call between that was, is not called again."""
MOST_REASON = 500


@dataclass(frozen=True)
class HookProblem:
    """Something that went wrong in a plugin. `place` is the hook, the tool, or where it was."""

    plugin: str
    place: str
    message: str


def log_problem(problem: HookProblem) -> None:
    log.warning("plugin %s, %s: %s", problem.plugin, problem.place, problem.message)


@dataclass(frozen=True)
class AgentStartChange:
    """What plugins add to a run: instructions before its prompt, and data (plugin and text) before its first
    message."""

    system_prompt: str = ""
    context: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ToolCallChange:
    """The parameters after all handlers, who changed them, and who blocked the call."""

    params: dict[str, Any]
    changed_by: tuple[str, ...] = ()
    blocked_by: str = ""
    reason: str = ""

    @property
    def refusal(self) -> str:
        """Empty when the call may go on."""
        why = f": {self.reason}" if self.reason else ""
        return f"the plugin {self.blocked_by} blocked this call{why}" if self.blocked_by else ""


@dataclass(frozen=True)
class TextChange:
    """A text after all handlers, who changed it, and who cancelled its sending."""

    text: str
    changed_by: tuple[str, ...] = ()
    cancelled_by: str = ""
    reason: str = ""

    @property
    def refusal(self) -> str:
        """Empty when it may be sent."""
        why = f": {self.reason}" if self.reason else ""
        return f"not sent, held back by the plugin {self.cancelled_by}{why}" if self.cancelled_by else ""


class GuardFailed(Exception):
    """A handler that is required could not be asked."""

    def __init__(self, plugin: str) -> None:
        super().__init__(f"the plugin {plugin} could not be asked, and nothing goes on without it")
        self.plugin = plugin


@dataclass(frozen=True)
class _Failed:
    message: str


@dataclass(eq=False)
class PluginHooks:
    """The handlers of all plugins by hook. Without any, nothing is made and nothing waits."""

    handlers: Sequence[HookHandler] = ()
    seconds: float = SECONDS
    report: Callable[[HookProblem], None] = log_problem
    _by_hook: dict[str, list[HookHandler]] = field(default_factory=dict, init=False)
    _tasks: set[asyncio.Future[Any]] = field(default_factory=set, init=False)
    _hangs: Counter[HookHandler] = field(default_factory=Counter, init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for each in sorted(self.handlers, key=lambda handler: -handler.priority):
            self._by_hook.setdefault(each.hook, []).append(each)

    def has(self, hook: str) -> bool:
        return hook in self._by_hook

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Where handlers are called for what happens on another thread."""
        self._loop = loop

    def tell(self, event: HookEvent) -> None:
        """Calls the handlers side by side, and waits for none. Any thread may call it."""
        if event.hook not in self._by_hook:
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._start, event)
            return
        self._start(event)

    def _start(self, event: HookEvent) -> None:
        task = asyncio.ensure_future(self.tell_and_wait(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def tell_and_wait(self, event: HookEvent) -> None:
        """The same, and returns when all are done, or their time is up."""
        handlers = self._by_hook.get(event.hook, ())
        await asyncio.gather(*(self._call(each, event) for each in handlers))

    async def drain(self) -> None:
        """Lets what was told come to its end, within the time of one call."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self.seconds)

    async def before_agent_start(self, event: BeforeAgentStart) -> AgentStartChange:
        change = AgentStartChange()
        for handler in self._by_hook.get(event.hook, ()):
            result = await self._result(handler, event)
            system, context = result.get("system_prompt", ""), result.get("prepend_context", "")
            change = AgentStartChange(
                "\n\n".join(filter(None, (change.system_prompt, system))),
                (*change.context, *([(handler.plugin, context)] if context else [])),
            )
        return change

    async def before_tool_call(self, event: BeforeToolCall) -> ToolCallChange:
        """Each handler sees what those before it made of the parameters; the first that blocks ends it."""
        change = ToolCallChange(event.params)
        for handler in self._by_hook.get(event.hook, ()):
            try:
                result = await self._result(handler, replace(event, params=change.params))
            except GuardFailed as error:
                return replace(change, blocked_by=error.plugin, reason="it could not be asked")
            if result.get("block"):
                return replace(change, blocked_by=handler.plugin, reason=_reason(result))
            params = result.get("params", change.params)
            if event.phase == "proposed" and params != change.params:
                change = ToolCallChange(params, (*change.changed_by, handler.plugin))
        return change

    async def tool_result_persist(self, event: ToolResultPersist) -> TextChange:
        change = TextChange(event.text)
        for handler in self._by_hook.get(event.hook, ()):
            result = await self._result(handler, replace(event, text=change.text))
            change = _with_text(change, handler, result)
        return change

    async def message_sending(self, event: MessageSending) -> TextChange:
        """Raises GuardFailed when a handler that is required could not be asked."""
        change = TextChange(event.text)
        for handler in self._by_hook.get(event.hook, ()):
            result = await self._result(handler, replace(event, text=change.text))
            if result.get("cancel"):
                return replace(change, cancelled_by=handler.plugin, reason=_reason(result))
            change = _with_text(change, handler, result)
        return change

    async def _result(self, handler: HookHandler, event: HookEvent) -> dict[str, Any]:
        """What it wants changed; nothing when it fails. Raises GuardFailed where it is required."""
        value = await self._call(handler, event)
        try:
            if not isinstance(value, _Failed):
                return read_result(handler.hook, value)
        except BadHookResult as error:
            self._report(handler, str(error))
        if handler.required:
            raise GuardFailed(handler.plugin)
        return {}

    async def _call(self, handler: HookHandler, event: HookEvent) -> Any:
        """What a handler returns, or _Failed, which is reported. It gets a copy, to do with as it likes."""
        if self._hangs[handler] >= MOST_HANGS:
            return _Failed("it is not called any more")
        try:
            value = await call_plugin(handler.function, copy.deepcopy(event), seconds=self.seconds)
        except PluginCallLate as error:
            return self._hung(handler, str(error))
        except PluginCallFailed as error:
            self._report(handler, str(error))
            value = _Failed(str(error))
        self._hangs.pop(handler, None)
        return value

    def _hung(self, handler: HookHandler, message: str) -> _Failed:
        self._hangs[handler] += 1
        if self._hangs[handler] >= MOST_HANGS:
            message += f", {MOST_HANGS} times in a row: it is not called again until the next start"
        self._report(handler, message)
        return _Failed(message)

    def _report(self, handler: HookHandler, message: str) -> None:
        self.report(HookProblem(handler.plugin, handler.hook, message))


def _reason(result: dict[str, Any]) -> str:
    return str(result.get("reason", ""))[:MOST_REASON]


def _with_text(change: TextChange, handler: HookHandler, result: dict[str, Any]) -> TextChange:
    text = result.get("text", change.text)
    return change if text == change.text else TextChange(text, (*change.changed_by, handler.plugin))


NO_HOOKS = PluginHooks()
"""For whoever has no plugins."""
