"""What the settings of a home say about the tools of its MCP servers, whoever calls them.

An expert's tools are its bindings, so profiles and allowlists are not about it. A deny is about everybody,
and so is a tier that is stricter than the expert's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.pipeline import PolicyScope, layers_of
from colleague.agent.policy.tier import approval_rule
from colleague.agent.tool import Tool, ToolSpec
from colleague.config import Settings
from colleague.config.settings import Tier
from colleague.main_names import MAIN_AGENT

_FOR_EVERYBODY = ("global", "global provider")


@dataclass(frozen=True)
class HomeToolRules:
    """Asked with the server's own name of a tool. `models` are those that may answer."""

    settings: Settings
    models: tuple[str, ...] = ()

    def denial(self, spec: ToolSpec) -> str | None:
        """Why nobody may call the tool."""
        if not spec.server:
            return None
        for model in self.models or ("",):
            for layer in layers_of(self.settings, PolicyScope(MAIN_AGENT, model)):
                rule = layer.denies(_served(spec)) if layer.name in _FOR_EVERYBODY else None
                if rule:
                    return f"{rule} (policy layer: {layer.name})"
        return None

    def tier(self, spec: ToolSpec) -> Tier:
        """`auto` where nothing is said: it loosens nothing."""
        rule = approval_rule(self.settings.tools.approvals, _served(spec), reads=spec.read_only)
        return rule.tier if rule else "auto"

    def split(self, tools: Sequence[Tool]) -> tuple[list[Tool], dict[str, str]]:
        """Those that may be called, and the others by name, each with the reason."""
        withheld = {tool.spec.name: reason for tool in tools if (reason := self.denial(tool.spec))}
        return [tool for tool in tools if tool.spec.name not in withheld], withheld


def _served(spec: ToolSpec) -> PolicyTool:
    return PolicyTool(f"{spec.server}.{spec.server_tool}", is_served=True)
