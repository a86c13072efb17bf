"""A tool that a plugin adds, as the loop sees it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from colleague.agent.tool import PLUGIN, Tool, ToolOutput, ToolRequest, ToolSpec, UnknownEnd
from colleague.argument_check import misfits
from colleague.config import Settings
from colleague.errors import UsageError
from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.hooks.runner import HookProblem, log_problem
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class PluginCall:
    """The call that a tool is asked for. `key` stays the same when it is sent again after a crash."""

    key: str
    run_id: str
    progress: Callable[[str], None]


ToolFunction = Callable[[dict[str, Any], PluginCall], Awaitable[Any] | Any]


@dataclass(frozen=True)
class PluginTool:
    """A tool of a server called `plugin:<name>`: the same gate, the same journal, and its words are data."""

    plugin: str
    spec: ToolSpec
    function: ToolFunction
    timeout_seconds: float
    report: Callable[[HookProblem], None] = log_problem

    @classmethod
    def of(
        cls,
        plugin: str,
        digest: str,
        name: str,
        description: str,
        function: ToolFunction,
        *,
        parameters: dict[str, Any],
        reads: bool,
        repeatable: bool,
        timeout_seconds: float,
    ) -> PluginTool:
        """Raises UsageError for what can never be called."""
        if not callable(function):
            raise UsageError(f"the function of the tool {name} is no function")
        _check_schema(name, parameters)
        spec = ToolSpec(
            name=name,
            description=description,
            parameters=parameters,
            read_only=reads,
            repeatable=reads or repeatable,
            server=f"{PLUGIN}{plugin}",
            server_tool=name,
            launch_digest=digest,
        )
        return cls(plugin, spec, function, timeout_seconds)

    async def call(self, request: ToolRequest) -> ToolOutput:
        call = PluginCall(request.key, request.run_id, request.on_progress)
        seconds = min(self.timeout_seconds, request.timeout or self.timeout_seconds)
        try:
            value = await call_plugin(self.function, request.arguments, call, seconds=seconds)
        except PluginCallLate as error:
            self._report(str(error))
            raise UnknownEnd(f"the plugin {self.plugin} gave no answer: {error}") from None
        except PluginCallFailed as error:
            self._report(str(error))
            return ToolOutput(str(error), is_error=True, source=self._source)
        return ToolOutput(_as_text(value), source=self._source)

    @property
    def _source(self) -> str:
        return f"plugin:{self.plugin}/{self.spec.name}"

    def _report(self, message: str) -> None:
        self.report(HookProblem(self.plugin, f"tool {self.spec.name}", message))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _check_schema(name: str, parameters: dict[str, Any]) -> None:
    if parameters.get("type") != "object":
        raise UsageError(f"the parameters of the tool {name} are no JSON Schema of an object")
    try:
        json.dumps(parameters)
        misfits(parameters, {})
    except (TypeError, ValueError) as error:
        raise UsageError(f"the parameters of the tool {name} are no JSON Schema: {error}") from None


@dataclass(frozen=True)
class PluginTools:
    """Gives the tools of plugins to the agents that people talk to."""

    found: Sequence[PluginTool]

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        return self.found
