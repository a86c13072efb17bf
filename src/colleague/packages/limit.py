"""A package as far as a person has accepted it: what tightens counts at once, what loosens does not.

`compare` names what loosens; nothing of that is left between an accepted package and a limited one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from colleague.main_names import MAIN_CHANNEL
from colleague.packages.delivery import Delivery
from colleague.packages.execution import Execution
from colleague.packages.function import Function
from colleague.packages.knowledge import Knowledge
from colleague.packages.learning import Learning
from colleague.packages.mark import Mark
from colleague.packages.names import MANIFEST
from colleague.packages.package import Package
from colleague.packages.parameter import Parameter
from colleague.packages.policy import Escalation, Override, Policy, Tier, looser, stricter
from colleague.packages.process import Process
from colleague.packages.tool_declaration import ToolDeclaration
from colleague.packages.trigger import Trigger

CONFIDENCE = "confidence"

Part = TypeVar("Part", Function, Process)


def limited(current: Package, accepted: Package) -> Package:
    """`current` with its own texts, and with no more rights than `accepted`."""
    requires = _common(current.manifest.requires_tools, accepted.manifest.requires_tools)
    manifest = replace(
        current.manifest,
        requires_tools=requires,
        policy=_policy(current, accepted),
        learning=_learning(current.manifest.learning, accepted.manifest.learning),
        delivery=_delivery(current.manifest.delivery, accepted.manifest.delivery),
        execution=_execution(current.manifest.execution, accepted.manifest.execution),
        triggers=_triggers(current, accepted),
    )
    functions = tuple(_function(each, accepted) for each in current.functions)
    return replace(
        current,
        manifest=manifest,
        tools=_tools(current, accepted),
        functions=functions,
        processes=tuple(
            _process(each, replace(current, functions=functions), accepted) for each in current.processes
        ),
        knowledge=tuple(_knowledge(each, accepted) for each in current.knowledge),
    )


def accepted_tier(accepted: Package, operation: str) -> Tier:
    """The tier an accepted package gives an operation. One that it names nowhere asks at least."""
    tool = accepted.tool(operation.partition(".")[0])
    tier = accepted.tier(operation)
    named = operation in accepted.operations or operation in accepted.manifest.policy.approval.overrides
    if tool and tool.operations and not named:
        return stricter("confirm", tier)
    return tier


def reach(package: Package, process: Process) -> set[str]:
    """Every tool that a run of the process can use, those of its isolated functions included."""
    named = process.functions
    functions = [each for each in package.functions if not named or each.name in named]
    return {*process.tools, *(tool for each in functions for tool in own_tools(each))}


def own_tools(function: Function) -> tuple[str, ...]:
    """The tools of an isolated function's session; an inline one has those of its process."""
    return function.tools if function.session == "isolated" else ()


def loosens_channel(now: str, was: str) -> bool:
    """Every channel but `main` leads out of the home."""
    return now not in (was, MAIN_CHANNEL)


def _common(now: Iterable[str], was: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in now if each in was)


def _policy(current: Package, accepted: Package) -> Policy:
    now, was = current.manifest.policy, accepted.manifest.policy
    named = [*current.operations, *accepted.operations, *now.approval.overrides, *was.approval.overrides]
    overrides = {}
    for operation in dict.fromkeys(named):
        tier = stricter(current.tier(operation), accepted_tier(accepted, operation))
        stated = now.approval.overrides.get(operation)
        overrides[operation] = Override(operation, tier, stated.at if stated else Mark(MANIFEST))
    approval = replace(
        was.approval, default=stricter(now.approval.default, was.approval.default), overrides=overrides
    )
    return Policy(approval, _escalation(now.escalation, was.escalation))


def _escalation(now: Escalation, was: Escalation) -> Escalation:
    return Escalation(
        channel=was.channel if loosens_channel(now.channel, was.channel) else now.channel,
        on_low_confidence=now.on_low_confidence or was.on_low_confidence,
        on_manual_ready=now.on_manual_ready or was.on_manual_ready,
    )


def _learning(now: Learning, was: Learning) -> Learning:
    approval = was.approval if looser(now.approval, was.approval) else now.approval
    enabled = now.enabled and (was.enabled or approval != "auto")
    return replace(now, enabled=enabled, approval=approval)


def _delivery(now: Delivery, was: Delivery) -> Delivery:
    return replace(now, channel=was.channel) if loosens_channel(now.channel, was.channel) else now


def _execution(now: Execution, was: Execution) -> Execution:
    silent = now.on_failure == "abandon" and was.on_failure != "abandon"
    return replace(
        now,
        on_failure=was.on_failure if silent else now.on_failure,
        idempotent=now.idempotent and was.idempotent,
    )


def _triggers(current: Package, accepted: Package) -> tuple[Trigger, ...]:
    """Those that were accepted; one that would wake in another way wakes as it did."""
    found = ((each, accepted.trigger(each.name)) for each in current.triggers)
    return tuple(each if each.matches == was.matches else was for each, was in found if was is not None)


def _tools(current: Package, accepted: Package) -> tuple[ToolDeclaration, ...]:
    """A tool file that lists nothing any more would open the whole server, so the accepted list counts."""
    described = {tool.name for tool in current.tools if tool.operations}
    kept = [tool for tool in accepted.tools if tool.operations and tool.name not in described]
    names = {tool.name for tool in kept}
    return (*(tool for tool in current.tools if tool.name not in names), *kept)


def _function(function: Function, accepted: Package) -> Function:
    was = accepted.function(function.name)
    tools = _common(function.tools, accepted.manifest.requires_tools)
    if function.session == "isolated":
        tools = _common(tools, own_tools(was) if was else ())
    return _with_confidence(replace(function, tools=tools), was)


def _process(process: Process, current: Package, accepted: Package) -> Process:
    was = accepted.process(process.name)
    before = was or accepted.manifest
    tools = _common(process.tools, was.tools if was else accepted.manifest.requires_tools)
    made = replace(
        process,
        tools=tools,
        delivery=_delivery(process.delivery, before.delivery),
        execution=_execution(process.execution, before.execution),
    )
    if was and not reach(current, made) <= reach(accepted, was):
        made = replace(made, functions=was.functions)
    return _with_confidence(made, was)


def _with_confidence(part: Part, was: Part | None) -> Part:
    """A doubt that reached a person goes on to reach one."""
    doubt = confidence_of(was) if was else None
    if doubt is None or _same(doubt, confidence_of(part)):
        return part
    return replace(part, outputs=(*(each for each in part.outputs if each.name != CONFIDENCE), doubt))


def confidence_of(part: Function | Process) -> Parameter | None:
    return next((each for each in part.outputs if each.name == CONFIDENCE), None)


def _same(one: Parameter, other: Parameter | None) -> bool:
    return other is not None and (one.schema, one.required) == (other.schema, other.required)


def _knowledge(item: Knowledge, accepted: Package) -> Knowledge:
    private = any(each.private and each.path == item.path for each in accepted.knowledge)
    return replace(item, type="private") if private else item
