"""Whether a command may run, must be asked about, or is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colleague.agent.commands.allowlist import ProgramFinder, is_allowed
from colleague.agent.commands.command_line import plain_words
from colleague.agent.gate import Verdict

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.config.agent_tools import ExecTool

DENIED = "exec may run nothing here: tools.exec.security is deny"
NOT_LISTED = "tools.exec.allowlist does not have this command, and nobody is asked: tools.exec.ask is off"
ELEVATED = "it would run outside of the sandbox"


def exec_settings(settings: Settings, agent_id: str) -> ExecTool:
    """`tools.exec`, with what one agent has of its own laid over it."""
    entry = settings.agents.find(agent_id) or settings.agents.main
    if entry is None:
        return settings.tools.exec
    own = entry.tools.exec
    return settings.tools.exec.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


@dataclass(frozen=True)
class ExecRules:
    """`tools.exec` of one agent."""

    settings: ExecTool
    finder: ProgramFinder

    def judge(self, arguments: dict[str, Any], folder: Path) -> Verdict:
        """Also for a call that will fail: a folder or a program may come to be until then."""
        if self.settings.security == "deny":
            return Verdict("refuse", "none", DENIED)
        if arguments.get("elevated"):
            return Verdict("ask", "confirm", ELEVATED)
        if self.settings.ask == "always":
            return Verdict("ask", "confirm")
        if self.is_listed(arguments, folder):
            return Verdict("allow", "auto")
        return self.unlisted()

    def unlisted(self) -> Verdict:
        """Of what no allowlist can say anything about, such as text that is typed into a program."""
        if self.settings.security == "deny":
            return Verdict("refuse", "none", DENIED)
        if (self.settings.ask or "on-miss") != "off":
            return Verdict("ask", "confirm")
        if self.settings.security == "allowlist":
            return Verdict("refuse", "none", NOT_LISTED)
        return Verdict("allow", "auto")

    def is_listed(self, arguments: dict[str, Any], folder: Path) -> bool:
        """Never with variables of its own: they can make another program of it."""
        words = plain_words(str(arguments.get("command", "")))
        if words is None or arguments.get("env"):
            return False
        return is_allowed(words, folder, self.settings.allowlist, self.finder)
