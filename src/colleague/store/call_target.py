"""What a call is bound to besides its arguments. An approval and a grant hold for one target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

SCHEMA_CHANGED = "the tool's schema has changed since"


@dataclass(frozen=True)
class CallTarget:
    """The server, its tool, how the server is started or reached, the tool's schema, and the package."""

    server: str
    tool: str
    launch_digest: str
    schema_digest: str
    package_digest: str

    def to_json(self) -> str:
        return json.dumps(vars(self))

    @classmethod
    def of_json(cls, text: str | None) -> CallTarget | None:
        """None for a call from before targets were kept."""
        return cls(**json.loads(text)) if text else None

    def differences(self, other: Mapping[str, str]) -> list[str]:
        """The parts in which the other one is not this one. What it leaves out is not compared."""
        names = (field.name for field in fields(self))
        return [name for name in names if name in other and other[name] != getattr(self, name)]


def difference_text(given: CallTarget, now: Mapping[str, str]) -> str:
    """Why a yes to the one is no yes to the other, for a person; empty when it is."""
    changed = given.differences(now)
    if "server" in changed:
        return f"it is for the server {given.server}, and the operation is bound to {now['server']} now"
    if "tool" in changed:
        return f"it is for the tool {given.tool}, and the operation is bound to {now['tool']} now"
    if "launch_digest" in changed:
        return f"the command or address of the server {given.server} has changed since"
    if "package_digest" in changed:
        return "the package has changed since"
    return SCHEMA_CHANGED if changed else ""
