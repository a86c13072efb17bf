"""The triggers of the experts in a home, as they are now: read again when a file changes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import ColleagueError, NotFound
from colleague.file_stamp import FileStamp, file_stamp
from colleague.home import Home
from colleague.shortage import is_shortage
from colleague.suggest import did_you_mean

if TYPE_CHECKING:  # many a command has a registry and never asks it
    from colleague.experts.bindings import ToolBinding, TriggerBinding
    from colleague.experts.expert import Expert
    from colleague.packages.package import Package
    from colleague.packages.process import Process
    from colleague.packages.trigger import Trigger

LOOK_EVERY = 1.0


class Inactive(ColleagueError):
    """The trigger is there and does not fire as things are."""

    code = "inactive"


@dataclass(frozen=True)
class BoundTrigger:
    """A trigger with everything that firing it needs.

    `problem` says why it does not fire; `fault` is that without being disabled. `tools` are those that the
    expert has bound."""

    expert: Expert
    package: Package
    trigger: Trigger
    process: Process
    binding: TriggerBinding | None = None
    problem: str = ""
    hint: str = ""
    fault: str = ""
    cure: str = ""
    tools: Mapping[str, ToolBinding] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.expert.name, self.trigger.name

    def withheld(self, tool: str) -> frozenset[str]:
        """Operations before which a person is asked: there is no run yet in which one could be."""
        declared = self.package.tool(tool)
        names = [operation.name for operation in declared.operations] if declared else []
        return frozenset(name for name in names if self.package.tier(f"{tool}.{name}") != "auto")

    def require_active(self) -> None:
        if self.problem:
            raise Inactive(self.problem, hint=self.hint)


@dataclass
class TriggerRegistry:
    """All triggers of a home. An expert that cannot be read keeps the triggers it had, and says so."""

    home: Home
    monotonic: Callable[[], float] = time.monotonic
    _bound_triggers: dict[tuple[str, str], BoundTrigger] = field(default_factory=dict)
    _stamps: dict[str, Stamps] = field(default_factory=dict)
    _problems: dict[str, str] = field(default_factory=dict)
    _unreadable: dict[str, Expert] = field(default_factory=dict)
    _looked: float = float("-inf")

    def all(self) -> list[BoundTrigger]:
        self._refresh()
        return list(self._bound_triggers.values())

    @property
    def problems(self) -> dict[str, str]:
        """Experts that cannot be read now, and why."""
        self._refresh()
        return dict(self._problems)

    @property
    def never_read(self) -> list[str]:
        """Enabled experts of which nobody knows yet what triggers they have."""
        self._refresh()
        known = {name for name, _ in self._bound_triggers}
        return [name for name, each in self._unreadable.items() if each.record.enabled and name not in known]

    def find(self, expert: str, trigger: str) -> BoundTrigger:
        """Raises NotFound, or Inactive for an expert that could not be read yet."""
        self._refresh()
        found = self._bound_triggers.get((expert, trigger))
        if found is not None:
            return found
        names = {name for name, _ in self._bound_triggers}
        if expert not in names and expert in self._unreadable:
            raise Inactive(
                f"{expert} cannot be read", hint=f"see why with: colleague expert validate {expert}"
            )
        if expert not in names:
            hint = did_you_mean(expert, names) or "see them with: colleague trigger list"
            raise NotFound(f"there is no expert {expert!r} with triggers", hint=hint)
        known = [name for owner, name in self._bound_triggers if owner == expert]
        hint = did_you_mean(trigger, known) or f"it has: {', '.join(known)}"
        raise NotFound(f"{expert} has no trigger {trigger!r}", hint=hint)

    def of_type(self, kind: str) -> list[BoundTrigger]:
        return [bound_trigger for bound_trigger in self.all() if bound_trigger.trigger.type == kind]

    async def renew(self) -> None:
        """Has the next lookup read what has changed."""
        self._looked = float("-inf")

    def _refresh(self) -> None:
        from colleague.experts.expert import discover

        now = self.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        experts = {expert.name: expert for expert in discover(self.home)}
        for gone in set(self._stamps) - set(experts):
            self._forget(gone)
        for name, expert in experts.items():
            stamps = expert_stamps(self.home, expert)
            if self._stamps.get(name) != stamps:
                self._stamps[name] = stamps
                self._read(expert)

    def _forget(self, name: str) -> None:
        self._stamps.pop(name, None)
        self._problems.pop(name, None)
        self._unreadable.pop(name, None)
        self._bound_triggers = {
            key: bound_trigger for key, bound_trigger in self._bound_triggers.items() if key[0] != name
        }

    def _read(self, expert: Expert) -> None:
        try:
            bound_trigger = bind_triggers(expert)
        except (ColleagueError, OSError) as error:
            self._problems[expert.name] = getattr(error, "message", str(error))
            self._unreadable[expert.name] = expert
            if is_shortage(error):
                self._stamps.pop(expert.name, None)  # read again soon, though no file changes
            if not expert.record.enabled:
                self._turn_off(expert)
            return
        others = {key: each for key, each in self._bound_triggers.items() if key[0] != expert.name}
        self._bound_triggers = others | {each.key: each for each in bound_trigger}
        self._problems.pop(expert.name, None)
        self._unreadable.pop(expert.name, None)

    def _turn_off(self, expert: Expert) -> None:
        """Whoever disables an expert that cannot be read means it, too."""
        for key, bound_trigger in self._bound_triggers.items():
            if key[0] == expert.name:
                problem, hint = _disabled(expert)
                self._bound_triggers[key] = replace(bound_trigger, expert=expert, problem=problem, hint=hint)


Stamps = tuple[tuple[Path, FileStamp], ...]


def expert_stamps(home: Home, expert: Expert) -> Stamps:
    """What tells that something about an expert has changed, without reading it."""
    files = [home.registry_file, expert.bindings_file, *_files(expert.root)]
    stamps = [(file, file_stamp(file)) for file in files]
    return tuple((file, stamp) for file, stamp in stamps if stamp)


def _files(root: Path) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder) / name for name in sorted(names)]
    return found


def bind_triggers(expert: Expert) -> list[BoundTrigger]:
    """The triggers of one expert as its files are now. Raises when they cannot be read."""
    from colleague.experts.accepted import accept_command
    from colleague.experts.bindings import read_bindings
    from colleague.packages.finding import Findings

    package = expert.load()
    findings = Findings()
    bindings = read_bindings(expert.bindings_file, findings)
    if findings.errors:
        raise ColleagueError(str(findings.errors[0]))
    bound_trigger = []
    for trigger in (*package.triggers, *_not_accepted(expert, package)):
        process = package.process(trigger.process)
        if process is None:
            continue
        fault, cure = _fault(expert, trigger, bound=set(bindings.tools))
        if package.trigger(trigger.name) is None:
            fault, cure = f"nobody has accepted the trigger {trigger.name} yet", accept_command(expert)
        problem, hint = (fault, cure) if expert.record.enabled else _disabled(expert)
        binding = bindings.triggers.get(trigger.name)
        bound_trigger.append(
            BoundTrigger(
                expert, package, trigger, process, binding, problem, hint, fault, cure, bindings.tools
            )
        )
    return bound_trigger


def _not_accepted(expert: Expert, package: Package) -> list[Trigger]:
    """Triggers that the package names and nobody accepted: they are listed, and do not fire."""
    manifest = expert.read_manifest() if not expert.accepts(package.digest) else None
    return [each for each in (manifest.triggers if manifest else ()) if package.trigger(each.name) is None]


def _disabled(expert: Expert) -> tuple[str, str]:
    return f"{expert.name} is disabled", f"colleague expert enable {expert.name}"


def _fault(expert: Expert, trigger: Trigger, *, bound: set[str]) -> tuple[str, str]:
    from colleague.packages.trigger import PRESETS

    if trigger.requires_tool and trigger.requires_tool not in bound:
        tool = trigger.requires_tool
        hint = f"colleague expert bind {expert.name} {tool} SERVER"
        return f"{trigger.name} is inactive until the tool {tool!r} is bound", hint
    if trigger.preset and trigger.preset not in PRESETS:
        return (
            f"the preset {trigger.preset!r} of {trigger.name} is not known here",
            f"known: {', '.join(PRESETS)}",
        )
    return "", ""
