"""One layer of the tool policy: what it allows and denies, and what it says of one tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from colleague.agent.policy.pattern import PolicyTool, naming
from colleague.config.section import Names
from colleague.config.tool_groups import ALLOWED_WITH, DENIED_WITH
from colleague.config.tool_lists import ToolLists

Effect = Literal["allow", "deny", "none"]


@dataclass(frozen=True)
class LayerRules:
    """What one place in the settings says. An empty `allow` restricts nothing; `deny` wins over it.

    `key` is the place, for people. `apart` is left out although `allow` has it."""

    key: str
    allow: Names = ()
    deny: Names = ()
    also_allow: Names = ()
    apart: Names = ()

    @classmethod
    def of(cls, key: str, lists: ToolLists) -> LayerRules:
        return cls(key, lists.allow, lists.deny, lists.also_allow)

    def denies(self, tool: PolicyTool) -> str | None:
        """The rule that denies the tool."""
        found = naming(self.deny, tool) or naming(self.deny, _with(DENIED_WITH.get(tool.name), tool))
        return f"{self.key}.deny: {found}" if found else None

    def adds(self, tool: PolicyTool) -> str | None:
        """The rule that adds the tool to what is allowed."""
        found = _allowing(self.also_allow, tool)
        return f"{self.key}.alsoAllow: {found}" if found else None

    def allows(self, tool: PolicyTool) -> str | None:
        """The rule of the allowlist that has the tool."""
        found = None if tool.name in self.apart else _allowing(self.allow, tool)
        return f"{self.key}.allow: {found}" if found else None

    def leaves_out(self, tool: PolicyTool) -> str | None:
        """The allowlist that does not have the tool."""
        if self.allow and not self.allows(tool):
            return f"{self.key}.allow does not name it"
        return None


@dataclass(frozen=True)
class ProfileRules(LayerRules):
    """A profile is an allowlist with a name; without a name it is the one where no profile is set."""

    profile: str = ""

    def allows(self, tool: PolicyTool) -> str | None:
        return self._rule if super().allows(tool) else None

    def leaves_out(self, tool: PolicyTool) -> str | None:
        if not super().leaves_out(tool):
            return None
        return (
            f"{self._rule}, which does not have it"
            if self.profile
            else f"{self._rule}, so it has to be named"
        )

    @property
    def _rule(self) -> str:
        return f"{self.key}: {self.profile}" if self.profile else f"{self.key} is not set"


@dataclass(frozen=True)
class PolicyLayer:
    """A layer by its name. `adds_to` names the layers whose allowlists its alsoAllow extends, besides its
    own; nothing takes back what a layer denies."""

    name: str
    rules: tuple[LayerRules, ...] = ()
    adds_to: tuple[str, ...] = ()

    def denies(self, tool: PolicyTool) -> str | None:
        return next((rule for rules in self.rules if (rule := rules.denies(tool))), None)

    def adds(self, tool: PolicyTool) -> str | None:
        return next((rule for rules in self.rules if (rule := rules.adds(tool))), None)

    def allows(self, tool: PolicyTool) -> str | None:
        return next((rule for rules in self.rules if (rule := rules.allows(tool))), None)

    def leaves_out(self, tool: PolicyTool) -> str | None:
        return next(
            (rule for rules in self.rules if not rules.adds(tool) and (rule := rules.leaves_out(tool))), None
        )


def _allowing(patterns: Names, tool: PolicyTool) -> str | None:
    return naming(patterns, tool) or naming(patterns, _with(ALLOWED_WITH.get(tool.name), tool))


def _with(name: str | None, tool: PolicyTool) -> PolicyTool:
    """The tool whose name counts for this one as well; the tool itself when there is none."""
    return PolicyTool(name) if name and not tool.is_served else tool
