"""What changes between two versions of a package, and what of it loosens approval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from colleague.packages.learning import Learning
from colleague.packages.package import Package
from colleague.packages.policy import looser
from colleague.packages.trigger import Trigger

Step = Literal["same", "patch", "minor", "major", "older", "unknown"]


@dataclass(frozen=True)
class Change:
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


def changes(old: Package, new: Package) -> list[Change]:
    return [
        *_policy_changes(old, new),
        *_tool_changes(old, new),
        *_trigger_changes(old, new),
        *_part_changes("process", (p.name for p in old.processes), (p.name for p in new.processes)),
        *_part_changes("function", (f.name for f in old.functions), (f.name for f in new.functions)),
        *_state_changes(old, new),
    ]


def _policy_changes(old: Package, new: Package) -> Iterator[Change]:
    before, after = old.manifest.policy, new.manifest.policy
    overridden = [*before.approval.overrides, *after.approval.overrides]
    for operation in dict.fromkeys([*old.operations, *new.operations, *overridden]):
        was, now = old.tier(operation), new.tier(operation)
        if was != now:
            yield Change(f"tier of {operation}: {was} → {now}", looser(now, was))
    if before.approval.default != after.approval.default:
        was, now = before.approval.default, after.approval.default
        yield Change(f"default tier: {was} → {now}", looser(now, was))
    yield from _setting("approval timeout", before.approval.timeout, after.approval.timeout)
    yield from _setting("on approval timeout", before.approval.on_timeout, after.approval.on_timeout)
    yield from _escalation_changes(old, new)
    yield from _learning_changes(old.manifest.learning, new.manifest.learning)


def _escalation_changes(old: Package, new: Package) -> Iterator[Change]:
    before, after = old.manifest.policy.escalation, new.manifest.policy.escalation
    if before.on_low_confidence != after.on_low_confidence:
        yield Change(
            f"escalates on low confidence: {_yes(after.on_low_confidence)}", not after.on_low_confidence
        )
    if before.on_manual_ready != after.on_manual_ready:
        yield Change(f"tells when a draft is ready: {_yes(after.on_manual_ready)}", not after.on_manual_ready)
    yield from _setting("escalation channel", before.channel, after.channel)


def _learning_changes(before: Learning, after: Learning) -> Iterator[Change]:
    if before.enabled != after.enabled:
        yield Change(f"learns: {_yes(after.enabled)}", after.enabled and after.approval == "auto")
    if before.approval != after.approval:
        was, now = before.approval, after.approval
        yield Change(f"approval of learnings: {was} → {now}", looser(now, was))


def _tool_changes(old: Package, new: Package) -> Iterator[Change]:
    before, after = old.manifest.requires_tools, new.manifest.requires_tools
    for name in after:
        if name not in before:
            yield Change(f"new tool: {name}", loosens=True)
    for name in before:
        if name not in after:
            yield Change(f"tool no longer needed: {name}")
    for operation in new.operations:
        tool = operation.partition(".")[0]
        if operation not in old.operations and tool in before:
            tier = new.tier(operation)
            yield Change(f"new operation: {operation} ({tier})", loosens=tier == "auto")
    yield from _part_changes("operation", (o for o in old.operations if o not in new.operations), ())


def _trigger_changes(old: Package, new: Package) -> Iterator[Change]:
    for trigger in new.triggers:
        was = old.trigger(trigger.name)
        if was is None:
            yield Change(f"new trigger: {trigger.name} ({trigger.handler}) → {trigger.process}", loosens=True)
        elif _told(was) != _told(trigger):
            yield Change(f"trigger {trigger.name}: {_told(was)} → {_told(trigger)}")
    yield from _part_changes("trigger", (t.name for t in old.triggers if new.trigger(t.name) is None), ())


def _told(trigger: Trigger) -> str:
    return f"{trigger.handler} → {trigger.process} [{trigger.concurrency}]"


def _state_changes(old: Package, new: Package) -> Iterator[Change]:
    before = {item.path: item.text for item in old.state}
    for item in new.state:
        if item.path not in before:
            yield Change(f"new state file: {item.path}")
        elif before[item.path] != item.text:
            yield Change(f"changed template {item.path}: your file stays as it is")


def _part_changes(kind: str, old: Iterable[str], new: Iterable[str]) -> Iterator[Change]:
    before, after = list(old), list(new)
    yield from (Change(f"new {kind}: {name}") for name in after if name not in before)
    yield from (Change(f"{kind} removed: {name}") for name in before if name not in after)


def _setting(name: str, was: object, now: object) -> Iterator[Change]:
    if was != now:
        yield Change(f"{name}: {was or 'none'} → {now or 'none'}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
