"""Asking an expert for something: a named process, or a task in a person's own words."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from colleague.agent.toolbox import BadArguments, decoded_arguments
from colleague.argument_check import misfits
from colleague.errors import UsageError
from colleague.experts.expert import Expert
from colleague.experts.runs.mapping import lane_of
from colleague.home import Home
from colleague.packages.package import Package
from colleague.packages.parameter import object_schema
from colleague.packages.process import Process
from colleague.packages.snapshot import take_snapshot
from colleague.packages.trigger import Trigger
from colleague.run_document import DryRun
from colleague.session_key import SessionKey
from colleague.store.accept import Arrival
from colleague.store.ids import new_id
from colleague.store.sla import Sla

COMMAND = "command"


@dataclass(frozen=True)
class Invocation:
    """A run that is to be made of an expert's package as it is now."""

    home: Home
    expert: Expert
    package: Package
    model: str = ""
    dry_run: DryRun = False

    def task(self, text: str, *, source: str = COMMAND) -> Arrival:
        """A free task: one after another in the expert's own session."""
        inputs = json.dumps({"task": text}, ensure_ascii=False)
        lane = None if self.dry_run else f"{self.expert.name}/session"
        return replace(self._arrival(source, self.expert.label, lane), inputs=inputs, payload=inputs)

    def process(self, process: Process, inputs: dict[str, Any], *, source: str = COMMAND) -> Arrival:
        """A named process, in the lane that its trigger would give it."""
        checked_inputs(process, inputs)
        lane = None if self.dry_run else lane_of(self.expert.name, self._trigger_of(process), inputs).name
        arrival = self._arrival(source, isolated_session(self.expert, process), lane)
        text = json.dumps(inputs, ensure_ascii=False)
        return replace(arrival, inputs=text, payload=text, **process_parts(process, self.package))

    def _trigger_of(self, process: Process) -> Trigger:
        """The trigger that wakes a process; one of its own for a process without any."""
        named = self.package.trigger(process.trigger) if process.trigger else None
        woken = next((each for each in self.package.triggers if each.process == process.name), None)
        found = named or woken
        return found or Trigger(
            at=process.at,
            node=None,
            name=f"process:{process.name}",
            type="webhook",
            process=process.name,
            concurrency=self.package.manifest.concurrency,
        )

    def _arrival(self, source: str, session_key: str, lane: str | None) -> Arrival:
        take_snapshot(self.package, self.home.snapshots)
        return Arrival(
            expert=self.expert.name,
            trigger=source,
            source=source,
            payload="{}",
            session_key=session_key,
            lane=lane,
            version=self.package.manifest.version,
            digest=self.package.digest,
            model=self.model,
            dry_run=self.dry_run,
        )


def process_parts(process: Process, package: Package) -> dict[str, Any]:
    """What a run takes from its process when it is accepted."""
    delivery = process.delivery
    sla = None
    if delivery.sla is not None:
        channel = package.manifest.policy.escalation.channel
        sla = Sla(delivery.sla.milliseconds, delivery.sla_breach, channel)
    return {"process": process.name, "steps": tuple(step.text for step in process.steps), "sla": sla}


def isolated_session(expert: Expert, process: Process) -> str:
    """A session of its own for each run of a process."""
    return str(SessionKey.for_process(expert.name, process.name, new_id()[-12:]))


def checked_inputs(process: Process, inputs: dict[str, Any]) -> None:
    """Raises UsageError with every input that is missing or does not fit."""
    names = ", ".join(f"{each.name} ({each.schema.get('type', 'any')})" for each in process.inputs)
    hint = f"{process.name} takes: {names or 'no inputs'}"
    try:
        problems = misfits(object_schema(process.inputs), decoded_arguments(inputs))
    except BadArguments as error:
        raise UsageError(str(error), hint=hint) from None
    if problems:
        raise UsageError(f"the inputs of {process.name} do not fit: {'; '.join(problems)}", hint=hint)
