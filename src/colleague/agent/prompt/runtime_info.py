"""Where a turn runs: the last line of every system prompt."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class RuntimeInfo:
    """What an agent may need to know of its surroundings. What is empty is not said."""

    agent: str
    model: str = ""
    thinking: str = ""
    channel: str = ""
    capabilities: tuple[str, ...] = ()
    """What the channel can do, such as react."""
    shell: str = ""
    """What runs commands."""

    @property
    def line(self) -> str:
        facts = {
            "agent": self.agent,
            **_machine(),
            "model": self.model,
            "thinking": self.thinking,
            "shell": self.shell,
            "channel": self.channel,
            "capabilities": ", ".join(self.capabilities),
        }
        return "Runtime: " + " | ".join(f"{name}={fact}" for name, fact in facts.items() if fact)


@cache
def _machine() -> dict[str, str]:
    return {"host": platform.node(), "os": f"{platform.system()} {platform.release()} ({platform.machine()})"}
