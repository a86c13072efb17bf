"""What comes with a message beside its text: who sent it, where, and how this turn is to run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from colleague.store.run import Run

PEOPLE = ("command", "api", "page", "chat", "link", "channel")
"""Ways by which people say something."""


@dataclass(frozen=True)
class TurnInputs:
    """The inputs of a run that is a turn. `approval`: it is the turn of a decision about a parked call."""

    message: str = ""
    approval: str = ""
    sender: dict[str, str] = field(default_factory=dict)
    """id, name, username, e164: of the person, as the channel knows them."""
    place: dict[str, str] = field(default_factory=dict)
    """channel, account, to, thread, message, group, group_channel, group_space: where it came from."""
    thinking: str = ""
    reasoning: str = ""
    verbose: str = ""
    disable_tools: bool = False
    timeout_seconds: float | None = None
    extra_system_prompt: str = ""
    heartbeat: bool = False
    """A regular check: its answer is shown only when there is something to report."""
    compact: str | None = None
    """The turn only shortens the conversation; what the person wants to be kept, or empty."""
    earlier: tuple[tuple[str, str], ...] = ()
    """Role (user or assistant) and text of what was said before, where the caller keeps the conversation."""

    @classmethod
    def of(cls, run: Run) -> TurnInputs:
        data = json.loads(run.inputs)
        known = {each.name for each in fields(cls)}
        found = {name: value for name, value in data.items() if name in known}
        return cls(**found | {"earlier": earlier_of(run.inputs)})

    def to_json(self) -> str:
        """Only what is set."""
        default = TurnInputs()
        given: dict[str, Any] = asdict(self)
        kept = {name: value for name, value in given.items() if value != getattr(default, name)}
        return json.dumps(kept, ensure_ascii=False)


def earlier_of(inputs: str) -> tuple[tuple[str, str], ...]:
    """What a caller gave as said before, of the inputs of a turn."""
    if '"earlier"' not in inputs:
        return ()
    return tuple((str(role), str(text)) for role, text in json.loads(inputs).get("earlier", ()))
