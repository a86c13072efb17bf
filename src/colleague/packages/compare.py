"""What changes between two versions of a package, and what of it loosens approval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from colleague.packages.function import Function
from colleague.packages.learning import Learning
from colleague.packages.limit import accepted_tier, confidence_of, loosens_channel, own_tools, reach
from colleague.packages.manifest import Manifest
from colleague.packages.package import Package
from colleague.packages.policy import looser
from colleague.packages.process import Process
from colleague.packages.trigger import Trigger

Step = Literal["same", "patch", "minor", "major", "older", "unknown"]


@dataclass(frozen=True)
class PackageChange:
    """One line of the difference; `loosens` when an expert may do more than before without being asked."""

    what: str
    loosens: bool = False


def version_step(old: str, new: str) -> Step:
    """How far it is from one version to another."""
    from semver import Version

    if old == new:
        return "same"
    if not (Version.is_valid(old) and Version.is_valid(new)):
        return "unknown"
    before, after = Version.parse(old), Version.parse(new)
    if after < before:
        return "older"
    if after.major != before.major:
        return "major"
    return "minor" if after.minor != before.minor else "patch"


def changes(old: Package, new: Package) -> list[PackageChange]:
    return [
        *_policy_changes(old, new),
        *_tool_changes(old, new),
        *_trigger_changes(old, new),
        *_shared_changes(old.manifest, new.manifest),
        *_process_changes(old, new),
        *_function_changes(old, new),
        *_knowledge_changes(old, new),
        *_part_changes("process", (p.name for p in old.processes), (p.name for p in new.processes)),
        *_part_changes("function", (f.name for f in old.functions), (f.name for f in new.functions)),
        *_state_changes(old, new),
    ]


def _policy_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    before, after = old.manifest.policy, new.manifest.policy
    overridden = [*before.approval.overrides, *after.approval.overrides]
    for operation in dict.fromkeys([*old.operations, *new.operations, *overridden]):
        was, now = old.tier(operation), new.tier(operation)
        if was != now:
            yield PackageChange(f"tier of {operation}: {was} → {now}", looser(now, was))
    if before.approval.default != after.approval.default:
        was, now = before.approval.default, after.approval.default
        yield PackageChange(f"default tier: {was} → {now}", looser(now, was))
    was_timing, timing = before.approval, after.approval
    yield from _setting("approval timeout", was_timing.timeout, timing.timeout, loosens=True)
    yield from _setting("on approval timeout", was_timing.on_timeout, timing.on_timeout, loosens=True)
    yield from _escalation_changes(old, new)
    yield from _learning_changes(old.manifest.learning, new.manifest.learning)


def _escalation_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    before, after = old.manifest.policy.escalation, new.manifest.policy.escalation
    if before.on_low_confidence != after.on_low_confidence:
        yield PackageChange(
            f"escalates on low confidence: {_yes(after.on_low_confidence)}", not after.on_low_confidence
        )
    if before.on_manual_ready != after.on_manual_ready:
        yield PackageChange(
            f"tells when a draft is ready: {_yes(after.on_manual_ready)}", not after.on_manual_ready
        )
    loosens = loosens_channel(after.channel, before.channel)
    yield from _setting("escalation channel", before.channel, after.channel, loosens=loosens)


def _learning_changes(before: Learning, after: Learning) -> Iterator[PackageChange]:
    if before.enabled != after.enabled:
        yield PackageChange(f"learns: {_yes(after.enabled)}", after.enabled and after.approval == "auto")
    if before.approval != after.approval:
        was, now = before.approval, after.approval
        yield PackageChange(f"approval of learnings: {was} → {now}", looser(now, was))


def _tool_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    before, after = old.manifest.requires_tools, new.manifest.requires_tools
    for name in after:
        if name not in before:
            yield PackageChange(f"new tool: {name}", loosens=True)
    for name in before:
        if name not in after:
            yield PackageChange(f"tool no longer needed: {name}")
    for operation in new.operations:
        tool = operation.partition(".")[0]
        if operation not in old.operations and tool in before:
            tier = new.tier(operation)
            loosens = looser(tier, accepted_tier(old, operation))
            yield PackageChange(f"new operation: {operation} ({tier})", loosens)
    for name in after:
        was, now = old.tool(name), new.tool(name)
        if name in before and was and was.operations and not (now and now.operations):
            yield PackageChange(
                f"{name} lists no operations, so every tool of its server is one", loosens=True
            )
    yield from _part_changes("operation", (o for o in old.operations if o not in new.operations), ())


def _trigger_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    for trigger in new.triggers:
        was = old.trigger(trigger.name)
        if was is None:
            yield PackageChange(
                f"new trigger: {trigger.name} ({trigger.handler}) → {trigger.process}", loosens=True
            )
        elif _describe_trigger(was) != _describe_trigger(trigger):
            yield PackageChange(
                f"trigger {trigger.name}: {_describe_trigger(was)} → {_describe_trigger(trigger)}",
                trigger.matches != was.matches,
            )
    yield from _part_changes("trigger", (t.name for t in old.triggers if new.trigger(t.name) is None), ())


def _describe_trigger(trigger: Trigger) -> str:
    session = " in the main session" if trigger.session == "main" else ""
    tool = f" with {trigger.requires_tool}" if trigger.requires_tool and trigger.preset else ""
    return f"{trigger.handler}{tool} → {trigger.process}{session} [{trigger.concurrency}]"


def _shared_changes(old: Manifest | Process, new: Manifest | Process) -> Iterator[PackageChange]:
    """What a package and each of its processes say."""
    was, now = old.delivery.channel, new.delivery.channel
    yield from _setting("delivery channel", was, now, loosens=loosens_channel(now, was))
    silent = new.execution.on_failure == "abandon"
    yield from _setting("on failure", old.execution.on_failure, new.execution.on_failure, loosens=silent)
    repeats = new.execution.idempotent
    if old.execution.idempotent != repeats:
        yield PackageChange(f"repeats every call when it is tried again: {_yes(repeats)}", repeats)


def _process_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    """A new process is compared with the package; what all inherit is told once, of the package."""
    inherited = list(_shared_changes(old.manifest, new.manifest))
    for process in new.processes:
        was = old.process(process.name)
        about = f"process {process.name}: "
        for change in _shared_changes(was or old.manifest, process):
            if change not in inherited:
                yield PackageChange(about + change.what, change.loosens)
        if was is not None:
            yield from _scope_changes(about, reach(old, was), reach(new, process))
            yield from _confidence_changes(about, was, process)


def _function_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    for function in new.functions:
        was = old.function(function.name)
        about = f"function {function.name}: "
        yield from _scope_changes(about, set(own_tools(was)) if was else set(), set(own_tools(function)))
        if was is not None:
            yield from _confidence_changes(about, was, function)


def _scope_changes(about: str, was: set[str], now: set[str]) -> Iterator[PackageChange]:
    if now - was:
        yield PackageChange(f"{about}may use {', '.join(sorted(now - was))}", loosens=True)


def _confidence_changes(
    about: str, was: Function | Process, now: Function | Process
) -> Iterator[PackageChange]:
    before, after = confidence_of(was), confidence_of(now)
    if before is not None and (
        after is None or (after.schema, after.required) != (before.schema, before.required)
    ):
        yield PackageChange(f"{about}says in another way, or not at all, how sure it is", loosens=True)


def _knowledge_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    private = {item.path for item in old.knowledge if item.private}
    for item in new.knowledge:
        if item.path in private and not item.private:
            yield PackageChange(f"{item.path} is private no longer", loosens=True)


def _state_changes(old: Package, new: Package) -> Iterator[PackageChange]:
    before = {item.path: item.text for item in old.state}
    for item in new.state:
        if item.path not in before:
            yield PackageChange(f"new state file: {item.path}")
        elif before[item.path] != item.text:
            yield PackageChange(f"changed template {item.path}: your file stays as it is")


def _part_changes(kind: str, old: Iterable[str], new: Iterable[str]) -> Iterator[PackageChange]:
    before, after = list(old), list(new)
    yield from (PackageChange(f"new {kind}: {name}") for name in after if name not in before)
    yield from (PackageChange(f"{kind} removed: {name}") for name in before if name not in after)


def _setting(name: str, was: object, now: object, *, loosens: bool = False) -> Iterator[PackageChange]:
    if was != now:
        yield PackageChange(f"{name}: {was or 'none'} → {now or 'none'}", loosens)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
