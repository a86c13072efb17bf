"""The tool that runs a command."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from colleague.agent.commands.command_text import MOST_SHOWN, end_text
from colleague.agent.commands.exec_rules import ExecRules
from colleague.agent.commands.place import BadPlace, CommandPlace
from colleague.agent.commands.running import CommandEnd
from colleague.agent.commands.running_commands import CommandRequest, RunningCommands, SessionCommand
from colleague.agent.commands.terminal_text import terminal_text
from colleague.agent.gate import Verdict
from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import Arguments, flag, number, parameters, text
from colleague.errors import ColleagueError

SOURCE = "exec"
UNCONFINED = "It is not confined: it can do what the user of this machine can."
CONFINED = {
    False: "It runs in a sandbox, which is called /workspace inside, without a network.",
    True: "It runs in a sandbox, which is called /workspace inside.",
}
"""By whether there is a network."""
_TELL_SECONDS = 0.5
_MOST_TOLD = 2000
_PARAMETERS = parameters(
    "command",
    command=text("The command line. One without shell syntax runs as it is, any other in a shell"),
    workdir=text("A folder of the workspace to run in, or of a skill; its top when not given"),
    env={
        "type": "object",
        "description": "Environment variables to add",
        "additionalProperties": {"type": "string"},
    },
    background=flag("Do not wait for it; it can be typed into with process"),
    yieldMs=number("Milliseconds to wait before it goes on in the background"),
    timeout=number("Seconds after which it is ended"),
    pty=flag("Give it a terminal, for programs that need one"),
    elevated=flag("Run it outside of the sandbox; a person is always asked"),
)
_DESCRIPTION = (
    "Runs a command in the workspace and returns its output and exit code. What takes longer than "
    "{seconds:g} seconds goes on in the background: look after it with process. When a command ends, so does "
    "everything it started; a server belongs into the background. {where}"
)


@dataclass(frozen=True)
class CommandTool:
    """`exec`: one command of one session."""

    session_key: str
    commands: RunningCommands
    rules: ExecRules
    place: CommandPlace
    outside: CommandPlace | None = None
    """Where elevated commands run; in the same place when not set."""
    where: str = UNCONFINED

    @property
    def spec(self) -> ToolSpec:
        seconds = self.rules.settings.background_ms / 1000
        return ToolSpec(
            name="exec",
            description=_DESCRIPTION.format(seconds=seconds, where=self.where),
            parameters=_PARAMETERS,
            own_verdict=self.verdict,
        )

    def verdict(self, arguments: dict[str, Any]) -> Verdict:
        try:
            folder = self.place.folder(str(arguments.get("workdir") or "."))
        except BadPlace:
            folder = self.place.workspace
        return self.rules.judge(arguments, folder)

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            command = await self.commands.start(self._wanted(request))
        except ColleagueError as error:
            return refused(error)
        progress = CommandProgress(request.on_progress, command.running.output.redact)
        command.running.on_output = progress.add
        try:
            ended = await command.running.wait(self._patience(request.arguments))
        except asyncio.CancelledError:
            await asyncio.shield(command.running.kill())
            raise
        command.running.on_output = None
        return await self._ended(command) if ended else _goes_on(command)

    def _patience(self, values: dict[str, Any]) -> float:
        """Seconds until it goes on in the background. One that does not start is known soon."""
        if values.get("background"):
            return 0.2
        return Arguments.of(self.spec, values).number("yieldMs", self.rules.settings.background_ms) / 1000

    def _wanted(self, request: ToolRequest) -> CommandRequest:
        arguments = Arguments.of(self.spec, request.arguments)
        line = arguments.text("command")
        if not line.strip():
            raise BadPlace("The command is empty.")
        elevated = self.outside if arguments.flag("elevated") else None
        place = elevated or self.place
        workdir = arguments.text("workdir", ".")
        of_skills = place.skills.variables(line, workdir)
        order = place.order(
            line,
            place.folder(workdir),
            {**of_skills.values, **(request.arguments.get("env") or {})},
            terminal=arguments.flag("pty"),
        )
        most = self.rules.settings.timeout_seconds
        return CommandRequest(
            session_key=self.session_key,
            run_id=request.run_id,
            call_id=request.call_id,
            command=line,
            order=order,
            timeout=arguments.number("timeout", most, most=most),
            takes_input=arguments.flag("background"),
            secrets=of_skills.secrets,
        )

    async def _ended(self, command: SessionCommand) -> ToolOutput:
        """What has been told is not kept."""
        await self.commands.forget(command)
        end = command.running.end or CommandEnd("lost")
        said = command.running.output.text(MOST_SHOWN)
        gap = "" if not said or said.endswith("\n") else "\n"
        return ToolOutput(f"{said}{gap}[{end_text(end)}]", is_error=not end.is_success, source=SOURCE)


def _goes_on(command: SessionCommand) -> ToolOutput:
    said = command.running.output.text(MOST_SHOWN)
    command.read = command.running.output.size
    advice = "look after it with process. It ends when this runtime does."
    note = f"[still running, as session {command.name}: {advice}]"
    return ToolOutput(f"{said}\n{note}" if said else note, source=SOURCE)


@dataclass
class CommandProgress:
    """Tells watchers the end of what was written, not more often than they can read it."""

    tell: Callable[[str], None]
    redact: Callable[[str], str] = str
    told_at: float = 0.0
    tail: bytes = field(default=b"", repr=False)

    def add(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_MOST_TOLD:]
        now = time.monotonic()
        if now - self.told_at >= _TELL_SECONDS:
            self.told_at = now
            self.tell(self.redact(terminal_text(self.tail)))
