"""The eight layers of the tool policy, in their order. A later layer restricts and never expands; only
alsoAllow adds to the allowlists above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from colleague.agent.policy.group_rules import group_rules
from colleague.agent.policy.layer import Effect, LayerRules, PolicyLayer, ProfileRules
from colleague.agent.policy.pattern import PolicyTool, naming
from colleague.config import Settings
from colleague.config.agent_tools import AgentTools, ToolPolicy
from colleague.config.section import Names
from colleague.config.tool_groups import OPT_IN, PROFILES
from colleague.config.tool_lists import ToolLists

DENIED_TO_SUBAGENTS: Names = (
    *("sessions_send", "gateway", "agents_list", "whatsapp_login", "session_status", "cron"),
    *("memory_search", "memory_get"),
)
DENIED_TO_LEAVES: Names = (*DENIED_TO_SUBAGENTS, "sessions_list", "sessions_history", "sessions_spawn")
"""Sub-agents that may spawn no more."""
LAST = "sandbox / sub-agent"

T = TypeVar("T")


@dataclass(frozen=True)
class PolicyScope:
    """Whose tools they are: an agent with one model, in a chat, in a sandbox, as a sub-agent.

    `model` is provider/model. `group_ids` names the chat, the narrowest first: a room, then what it is in.
    Empty for a chat with one person. `depth` counts from the session that a person talks to; None when the
    session is no sub-agent."""

    agent_id: str
    model: str = ""
    channel: str = ""
    group_ids: tuple[str, ...] = ()
    sandboxed: bool = False
    depth: int | None = None


def layers_of(settings: Settings, scope: PolicyScope) -> tuple[PolicyLayer, ...]:
    """Every layer, the first one first."""
    tools, agent = settings.tools, _agent_tools(settings, scope.agent_id)
    at = f"agents.{scope.agent_id}.tools"
    provider, own = _provider(tools.by_provider, scope.model), _provider(agent.by_provider, scope.model)
    return (
        PolicyLayer("profile", _profile(settings, scope)),
        PolicyLayer("provider profile", _provider_profile(settings, scope)),
        PolicyLayer("global", _rules("tools", tools), adds_to=("profile",)),
        PolicyLayer(
            "global provider",
            _rules(f"tools.byProvider.{provider[0]}", provider[1]),
            adds_to=("profile", "provider profile", "global"),
        ),
        PolicyLayer("agent", _rules(at, agent), adds_to=("profile", "global")),
        PolicyLayer(
            "agent provider",
            _rules(f"{at}.byProvider.{own[0]}", own[1]),
            adds_to=("profile", "provider profile", "global", "global provider", "agent"),
        ),
        PolicyLayer("group", group_rules(settings, scope.channel, scope.group_ids)),
        PolicyLayer(LAST, (*_sandbox(settings, agent, scope), *_subagent(settings, scope))),
    )


@dataclass(frozen=True)
class LayerEffect:
    """What one layer says of one tool."""

    layer: str
    effect: Effect
    rule: str


@dataclass(frozen=True)
class ToolDecision:
    """Whether a tool is offered, and the layer that decided."""

    offered: bool
    decided_by: LayerEffect
    layers: tuple[LayerEffect, ...]

    @property
    def reason(self) -> str:
        return f"{self.decided_by.rule} (policy layer: {self.decided_by.layer})"


@lru_cache(maxsize=64)
def decide_tools(layers: Sequence[PolicyLayer], tools: Sequence[PolicyTool]) -> tuple[ToolDecision, ...]:
    """What the layers say of each tool. It follows from these alone, and most turns give the same."""
    return tuple(decide_tool(layers, tool) for tool in tools)


def decide_tool(layers: Sequence[PolicyLayer], tool: PolicyTool) -> ToolDecision:
    """The first layer that denies decides; of those that allow, the last."""
    effects = tuple(_effect(layer, layers[place + 1 :], tool) for place, layer in enumerate(layers))
    denied = [each for each in effects if each.effect == "deny"]
    allowed = [each for each in effects if each.effect == "allow"]
    nothing = LayerEffect("profile", "allow", "nothing restricts it")
    return ToolDecision(not denied, [*denied, *reversed(allowed), nothing][0], effects)


def _effect(layer: PolicyLayer, later: Sequence[PolicyLayer], tool: PolicyTool) -> LayerEffect:
    if rule := layer.denies(tool):
        return LayerEffect(layer.name, "deny", rule)
    if rule := layer.leaves_out(tool):
        added = [each for each in later if layer.name in each.adds_to and each.adds(tool)]
        return LayerEffect(layer.name, "none" if added else "deny", rule)
    rule = layer.adds(tool) or layer.allows(tool)
    return LayerEffect(layer.name, "allow" if rule else "none", rule or "")


def _agent_tools(settings: Settings, agent_id: str) -> AgentTools:
    entry = settings.agents.of(agent_id)
    return entry.tools if entry else AgentTools()


def _rules(key: str, lists: ToolLists | None) -> tuple[LayerRules, ...]:
    return (LayerRules.of(key, lists),) if lists is not None else ()


def _provider(by_provider: Mapping[str, T], model: str) -> tuple[str, T | None]:
    """What is said for the model itself, else for its provider."""
    found = {key.casefold(): (key, value) for key, value in by_provider.items()}
    for wanted in (model.casefold(), model.casefold().partition("/")[0]):
        if wanted in found:
            return found[wanted]
    return "", None


def _profile(settings: Settings, scope: PolicyScope) -> tuple[LayerRules, ...]:
    """The agent's own profile stands in the place of the one for all."""
    agent, tools = _agent_tools(settings, scope.agent_id), settings.tools
    if agent.profile:
        return (_as_rules(f"agents.{scope.agent_id}.tools.profile", agent.profile),)
    if tools.profile:
        return (_as_rules("tools.profile", tools.profile),)
    named = (*tools.allow, *agent.allow)
    apart = tuple(name for name in OPT_IN if naming(named, PolicyTool(name)) is None)
    return (ProfileRules("tools.profile", allow=("*",), apart=apart),)


def _provider_profile(settings: Settings, scope: PolicyScope) -> tuple[LayerRules, ...]:
    places: list[tuple[str, Mapping[str, ToolPolicy]]] = [
        (f"agents.{scope.agent_id}.tools", _agent_tools(settings, scope.agent_id).by_provider),
        ("tools", settings.tools.by_provider),
    ]
    for at, by_provider in places:
        key, policy = _provider(by_provider, scope.model)
        if policy is not None and policy.profile:
            return (_as_rules(f"{at}.byProvider.{key}.profile", policy.profile),)
    return ()


def _as_rules(key: str, profile: str) -> ProfileRules:
    return ProfileRules(key, allow=PROFILES[profile], profile=profile)


def _sandbox(settings: Settings, agent: AgentTools, scope: PolicyScope) -> tuple[LayerRules, ...]:
    if not scope.sandboxed:
        return ()
    entry = settings.agents.of(scope.agent_id)
    own = entry.sandbox.tools if entry and entry.sandbox else None
    return (
        LayerRules.of("tools.sandbox.tools", settings.tools.sandbox.tools),
        LayerRules.of(f"agents.{scope.agent_id}.tools.sandbox.tools", agent.sandbox.tools),
        LayerRules.of("agents.defaults.sandbox.tools", settings.agents.defaults.sandbox.tools),
        *_rules(f"agents.{scope.agent_id}.sandbox.tools", own),
    )


def _subagent(settings: Settings, scope: PolicyScope) -> tuple[LayerRules, ...]:
    """What no sub-agent has, unless `tools.subagents.tools` gives it by its name; and what that denies."""
    if scope.depth is None:
        return ()
    lists = settings.tools.subagents.tools
    is_leaf = scope.depth >= settings.agents.defaults.subagents.max_spawn_depth
    usual = DENIED_TO_LEAVES if is_leaf else DENIED_TO_SUBAGENTS
    denied = tuple(name for name in usual if name not in (*lists.allow, *lists.also_allow))
    return (
        LayerRules("sub-agents by default", deny=denied),
        LayerRules.of("tools.subagents.tools", lists),
    )
