"""Why a session has a tool or has it not, for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from colleague.agent.gate import Gate
from colleague.agent.models.tool_name import shown_name
from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.pipeline import ToolDecision
from colleague.agent.policy.session_policy import SessionToolPolicy
from colleague.agent.tool import Tool, ToolSpec
from colleague.config.tool_groups import ALIASES, NATIVE
from colleague.errors import NotFound
from colleague.suggest import did_you_mean
from colleague.tool_document import ToolDocument

ABSENT = "availability"
NO_TIER = "none"


def explain_tools(tools: Sequence[Tool], policy: SessionToolPolicy, gate: Gate) -> list[ToolDocument]:
    """Every tool that there is, offered or not."""
    return [_document(tool.spec, policy, gate) for tool in tools]


def explain_tool(tools: Sequence[Tool], policy: SessionToolPolicy, gate: Gate, name: str) -> ToolDocument:
    """One tool by the name that people or models use. Raises NotFound for a name that is no tool."""
    wanted = {name, shown_name(name), ALIASES.get(name, name)}
    specs = [tool.spec for tool in tools]
    found = next((spec for spec in specs if spec.name in wanted), None)
    if found is not None:
        return _document(found, policy, gate)
    absent = next((each for each in NATIVE if each in wanted), None)
    if absent is None:
        known = [spec.name for spec in specs]
        hint = did_you_mean(name, known) or "see them with: colleague tool list"
        raise NotFound(f"there is no tool {name!r}", hint=hint)
    return _absent(absent, policy.decide(PolicyTool(absent)))


def with_note(documents: list[ToolDocument], names: Collection[str], note: str) -> list[ToolDocument]:
    """The same, with a note on the tools of these names that are offered."""
    noted = [each["offered"] and each["tool"] in names for each in documents]
    return [{**each, "note": note} if found else each for each, found in zip(documents, noted, strict=True)]


def _document(spec: ToolSpec, policy: SessionToolPolicy, gate: Gate) -> ToolDocument:
    decision = policy.decide(PolicyTool.of(spec))
    first = spec.description.strip().partition("\n")[0]
    return _with_decision(spec.name, decision, _tier(spec, gate), spec.server or None, first)


def _absent(name: str, decision: ToolDecision) -> ToolDocument:
    """A tool of ours that this session is not given, whatever the policy says."""
    document = _with_decision(name, decision, NO_TIER, None, "")
    if decision.offered:
        document["offered"] = False
        document["decided_by"] = {"layer": ABSENT, "rule": "this session has no such tool"}
    return document


def _with_decision(
    name: str, decision: ToolDecision, tier: str, server: str | None, description: str
) -> ToolDocument:
    by = decision.decided_by
    return {
        "tool": name,
        "offered": decision.offered,
        "tier": tier,
        "server": server,
        "description": description,
        "note": "",
        "decided_by": {"layer": by.layer, "rule": by.rule},
        "layers": [
            {"layer": each.layer, "effect": each.effect, "rule": each.rule} for each in decision.layers
        ],
    }


def _tier(spec: ToolSpec, gate: Gate) -> str:
    """Where arguments decide, of a call without any; one that cannot be judged so asks."""
    try:
        return gate.judge(spec, {}).tier
    except (KeyError, TypeError, AttributeError):
        return "confirm"
