"""What a trigger makes of a payload: the inputs of its process, the dedupe value and the lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from colleague.experts.key_text import escaped, key_text
from colleague.main_names import MAIN_SESSION
from colleague.packages.process import Process
from colleague.packages.trigger import Trigger


class Inputs(NamedTuple):
    """The values found, and the required inputs that have none."""

    values: dict[str, Any]
    missing: list[str]


@dataclass(frozen=True)
class Lane:
    """The lane of one event; None is none. `warning` says why it is not the lane the trigger asks for."""

    name: str | None
    warning: str | None = None


def inputs_of(trigger: Trigger, process: Process, payload: Any) -> Inputs:
    """By the trigger's mapping; without one, what the payload and the process's inputs both name.

    When they have no name in common the payload itself is the one input, called `payload`."""
    if trigger.payload_mapping:
        found = {name: path.find(payload) for name, path in trigger.payload_mapping.items()}
    else:
        found = _by_name(process, payload) or {"payload": payload}
    values = {name: value for name, value in found.items() if value is not None}
    optional = {each.name for each in process.inputs if not each.required}
    wanted = dict.fromkeys([*trigger.payload_mapping, *(each.name for each in process.inputs)])
    return Inputs(values, [name for name in wanted if name not in values and name not in optional])


def _by_name(process: Process, payload: Any) -> dict[str, Any]:
    if not isinstance(payload, Mapping):
        return {}
    return {each.name: payload[each.name] for each in process.inputs if payload.get(each.name) is not None}


def dedupe_value(trigger: Trigger, payload: Any) -> str | None:
    """What the trigger's `dedupe_key` finds; None when there is nothing that could tell two events apart."""
    return key_text(trigger.dedupe_key.find(payload)) if trigger.dedupe_key else None


def lane_of(expert: str, trigger: Trigger, payload: Any) -> Lane:
    """No two values of a key share a lane, and no key shares one with a trigger."""
    if trigger.session == "main":
        return Lane(MAIN_SESSION)
    mode, key = trigger.concurrency.mode, trigger.concurrency.key
    if mode == "parallel":
        return Lane(None)
    serial = f"{escaped(expert)}/{escaped(trigger.name)}"
    if mode == "serial":
        return Lane(serial)
    value = key_text(key.find(payload)) if key else None
    if key and value:
        return Lane(f"{escaped(expert)}/{escaped(key.text)}/{value}")
    why = f"{key.text!r} is no single value in this payload" if key else "its trigger has no concurrency_key"
    return Lane(serial, f"{why}, so this event waits for earlier ones of {trigger.name} without it")
