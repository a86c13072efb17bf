"""The tool for commands that go on in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from colleague.agent.commands.command_text import MOST_SHOWN, end_text, record_text
from colleague.agent.commands.command_tool import SOURCE
from colleague.agent.commands.exec_rules import ExecRules
from colleague.agent.commands.keys import key_bytes
from colleague.agent.commands.running_commands import RunningCommands, SessionCommand
from colleague.agent.gate import Verdict
from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import Arguments, flag, number, parameters, text
from colleague.errors import ColleagueError, NotFound
from colleague.plain_text import plain
from colleague.store.ids import short

TYPING = ("write", "submit", "paste", "send-keys")
ACTIONS = ("list", "poll", "log", *TYPING, "kill", "clear")
_MOST_LISTED = 50
_LONGEST_LINE = 120
_LINES = 200
_PARAMETERS = parameters(
    "action",
    action={"type": "string", "enum": list(ACTIONS), "description": "What to do"},
    sessionId=text("The command, by the session that exec or list named; for all but list"),
    data=text("Text to type, for write, submit and paste; submit adds a line end"),
    keys={
        "type": "array",
        "items": {"type": "string"},
        "description": "Keys to press, such as Enter, Up or C-c, for send-keys",
    },
    eof=flag("End the input after write"),
    timeout=number("Milliseconds poll waits for the end, at most 60000"),
    offset=number("First line of log; the last ones when not given"),
    limit=number("Lines of log"),
)


@dataclass(frozen=True)
class CommandProcessTool:
    """`process`: the commands of one session. Other sessions' commands do not exist for it."""

    session_key: str
    commands: RunningCommands
    rules: ExecRules

    @property
    def spec(self) -> ToolSpec:
        """A call that is made again after a crash finds that the command has ended."""
        return ToolSpec(
            name="process",
            description=(
                "Looks after commands in the background: list them, poll one for new output (waiting for its "
                "end if you like), read its log, type into it, kill it, or clear an ended one from the list."
            ),
            parameters=_PARAMETERS,
            repeatable=True,
            own_verdict=self.verdict,
        )

    def verdict(self, arguments: dict[str, Any]) -> Verdict:
        """What is typed into a shell is a command like any other."""
        return self.rules.unlisted() if arguments.get("action") in TYPING else Verdict("allow", "auto")

    async def call(self, request: ToolRequest) -> ToolOutput:
        arguments = Arguments.of(self.spec, request.arguments)
        action = arguments.text("action")
        try:
            if action == "list":
                return ToolOutput(await self._list(), source=SOURCE)
            found = self.commands.find(self.session_key, arguments.text("sessionId"))
            if found is None:
                return await self._unknown(arguments.text("sessionId"))
            if action in TYPING:
                return await _type(found, arguments, request.arguments.get("keys") or [])
            return await self._actions[action](found, arguments)
        except ColleagueError as error:
            return refused(error)

    @property
    def _actions(self) -> Mapping[str, Callable[[SessionCommand, Arguments], Awaitable[ToolOutput]]]:
        return {"poll": _poll, "log": _log, "kill": _kill, "clear": self._clear}

    async def _list(self) -> str:
        """Of those that this process does not know, the ones whose end nobody was told."""
        others = [
            _line(row.id, record_text(row), row.command)
            for row in await self.commands.recorded(self.session_key)
            if row.status in ("running", "uncertain")
        ]
        known = self.commands.of_session(self.session_key)
        own = [_line(each.id, _state(each), each.request.command) for each in known]
        return "\n".join([*others, *own][-_MOST_LISTED:]) or "No commands run in the background."

    async def _unknown(self, name: str) -> ToolOutput:
        rows = await self.commands.recorded(self.session_key)
        row = next((each for each in reversed(rows) if name and each.id.endswith(name)), None)
        if row is None:
            raise NotFound(f"there is no command {name!r} in this session", hint="look with action list")
        return ToolOutput(f"The command {name} {record_text(row)}.", is_error=True)

    async def _clear(self, found: SessionCommand, _: Arguments) -> ToolOutput:
        if found.running.end is None:
            return ToolOutput(f"{found.name} is running; kill it first.", is_error=True)
        await self.commands.forget(found)
        return ToolOutput(f"{found.name} is cleared.")


def _line(command_id: str, state: str, command: str) -> str:
    return f"{short(command_id)}  {state}: {plain(command)[:_LONGEST_LINE]}"


def _state(found: SessionCommand) -> str:
    end = found.running.end
    return "running" if end is None else end_text(end)


async def _poll(found: SessionCommand, arguments: Arguments) -> ToolOutput:
    await found.running.wait(arguments.number("timeout", 0, least=0, most=60_000) / 1000)
    said = found.running.output.since(found.read, MOST_SHOWN)
    found.read = found.running.output.size
    gap = "" if not said or said.endswith("\n") else "\n"
    return ToolOutput(f"{said}{gap}[{_state(found)}]", source=SOURCE)


async def _log(found: SessionCommand, arguments: Arguments) -> ToolOutput:
    lines = found.running.output.text(10 * MOST_SHOWN).splitlines()
    limit = arguments.number("limit", _LINES)
    first = arguments.number("offset", max(1, len(lines) - limit + 1))
    shown = "\n".join(lines[first - 1 : first - 1 + limit])[:MOST_SHOWN]
    last = min(len(lines), first - 1 + limit)
    note = f"[lines {first} to {last} of {len(lines)}; {_state(found)}]"
    return ToolOutput(f"{shown}\n{note}" if shown else note, source=SOURCE)


async def _type(found: SessionCommand, arguments: Arguments, keys: list[str]) -> ToolOutput:
    action = arguments.text("action")
    data = key_bytes(keys) if action == "send-keys" else arguments.text("data", "").encode()
    if action == "submit":
        data += b"\r" if found.request.order.terminal else b"\n"
    await found.running.write(data, eof=arguments.flag("eof"))
    return ToolOutput(f"{len(data)} bytes were typed into {found.name}; poll it for what it says.")


async def _kill(found: SessionCommand, _: Arguments) -> ToolOutput:
    end = await found.running.kill()
    return ToolOutput(f"{found.name} is over: {end_text(end)}. Nothing of it is left.")
