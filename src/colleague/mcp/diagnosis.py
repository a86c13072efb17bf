"""Why a server is not there, in one sentence, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from colleague.errors import ConfigError
from colleague.mcp.errors import LoginNeeded, ServerDown

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.mcp.http import HttpConnection
    from colleague.mcp.launch import Launch
    from colleague.mcp.log import ServerLog
    from colleague.mcp.stdio import StdioServer


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, following the server's name in a sentence, and the next thing to do."""

    what: str
    hint: str


def down(name: str, what: str, hint: str) -> ServerDown:
    return ServerDown(f"MCP server {name} {what}", server=name, hint=hint)


def login_needed(name: str, where: str, problem: str) -> LoginNeeded:
    """`problem` follows the address in a sentence."""
    return LoginNeeded(
        f"MCP server {name} cannot be used: {where} {problem}",
        server=name,
        hint=f"run: colleague mcp login {name}; or put a token into mcp.servers.{name}.headers",
    )


def unforeseen(name: str, what: str) -> ServerDown:
    return down(name, f"cannot be started now: {what}", "it is tried again by itself; the log has more")


def misconfigured(name: str, error: ConfigError) -> ServerDown:
    return ServerDown(error.message, server=name, hint=error.hint)


async def not_started(
    launch: Launch, server: StdioServer | HttpConnection, log: ServerLog, error: BaseException | None
) -> ServerDown:
    """The reason for a start that failed with `error`, or timed out (None)."""
    from colleague.mcp.stdio import StdioServer

    if isinstance(server, StdioServer):
        finding = await _stdio(launch, server, log, error)
    elif server.needs_login:
        return login_needed(launch.name, launch.where, server.problem)
    else:
        finding = _http(launch, server, error)
    return down(launch.name, launch.redact(finding.what), finding.hint)


async def _stdio(
    launch: Launch, server: StdioServer, log: ServerLog, error: BaseException | None
) -> Diagnosis:
    if not server.was_started:
        return _not_spawned(launch, error)
    garbage = f"; it printed {server.garbage!r} on stdout, which is not MCP" if server.garbage else ""
    said = f"; it said: {log.tail()}" if log.tail() else ""
    look = f"run the command by hand, or read {log.path}"
    if error is None:
        seconds = f"{launch.start_seconds:g} s"
        more = f"{look}; mcp.servers.{launch.name}.connectionTimeoutMs gives it more time"
        return Diagnosis(f"did not answer within {seconds}{garbage}{said}", more)
    if ended := await server.exit_text():
        return Diagnosis(f"{ended} before it answered{said}{garbage}", look)
    return Diagnosis(f"could not be spoken to: {sentence_of(error)}{garbage}{said}", look)


def _not_spawned(launch: Launch, error: BaseException | None) -> Diagnosis:
    from colleague.mcp.stdio import find_command

    if launch.cwd and not launch.cwd.is_dir():
        return Diagnosis(f"cannot start: its folder {launch.cwd} does not exist", f"correct {launch.key}.cwd")
    if find_command(launch) is None:
        what = f"cannot start: the command {launch.where!r} is not found"
        return Diagnosis(what, f"install it, or correct {launch.key}.command")
    reason = str(error) if error is None else _reason(error)
    return Diagnosis(f"cannot start {launch.where!r}: {reason}", f"mend that, or correct {launch.key}")


def _reason(error: BaseException) -> str:
    if not isinstance(error, OSError):
        return sentence_of(error)
    return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)


def _http(launch: Launch, server: HttpConnection, error: BaseException | None) -> Diagnosis:
    if server.problem:
        return Diagnosis(
            f"cannot be used: {launch.where} {server.problem}",
            server.hint or _http_hint(launch, server.status),
        )
    if error is None:
        what = f"did not answer within {launch.start_seconds:g} s at {launch.where}"
        return Diagnosis(what, f"check that it runs; {launch.key}.connectionTimeoutMs gives it more time")
    return Diagnosis(
        f"could not be spoken to at {launch.where}: {sentence_of(error)}",
        f"check that {launch.key}.url is MCP",
    )


def _http_hint(launch: Launch, status: int | None) -> str:
    if status in (401, 403):
        return f"check the credentials in {launch.key}.headers"
    if status in (404, 405, 406):
        return f"check the path in {launch.key}.url, and its transport"
    if status is not None:
        return "try again later, or ask whoever runs it"
    return f"start it, or correct {launch.key}.url"


def sentence_of(error: BaseException) -> str:
    """An error in a few words: the first of its causes that has any."""
    return next(_causes(error), "") or type(error).__name__


def _causes(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    elif text := str(error):
        yield text


def lost(log: Path) -> str:
    """What to do about a server that ended by itself."""
    return f"read {log} to see why; it is started again by itself"
