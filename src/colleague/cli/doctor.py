"""colleague doctor: what is wrong with a home, and the cure of each finding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.cli.gateway_triggers import Problems
    from colleague.config import Settings
    from colleague.experts.expert import Expert
    from colleague.home import Home
    from colleague.mcp.errors import McpError
    from colleague.settings_document import OfferedModel
    from colleague.store.tx import Tx

Level = Literal["ok", "warning", "error"]
LITTLE_SPACE = 200_000_000
MOST_PATHS = 3
MOST_KEYS = 10
CHANGED_PLUGIN = {"changed": "its files are not those that were enabled", "gone": "it is not there any more"}
CURED_PLUGIN = {
    "changed": "look at its files, then: colleague plugin enable {}",
    "gone": "colleague plugin disable {}",
}


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked at."""

    about: str
    level: Level
    message: str
    cure: str = ""


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Close files of the home to other users.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at config, database, models, MCP servers, experts, ports and permissions; say what to do."""
    import asyncio

    from colleague.cli.output import progress, say, say_hint, say_json

    with progress("Looking around") as tell:
        fixed = _fixed(home) if fix else []
        found = fixed + asyncio.run(_collect(home, tell))
    if as_json:
        say_json([asdict(each) for each in found])
    else:
        for each in found:
            say(_line(each))
            if each.cure:
                say_hint(f"    {each.cure}")
    if any(each.level == "error" for each in found):
        raise typer.Exit(1)


def _line(checked: DoctorCheck) -> str:
    from colleague.cli.output import coloured, mark

    sign = coloured("!", "yellow") if checked.level == "warning" else mark(checked.level == "ok")
    return f"{sign} {checked.about}: {checked.message}"


async def _collect(given: object, tell: object) -> list[DoctorCheck]:
    from pathlib import Path

    from colleague.config import load_settings
    from colleague.errors import ColleagueError
    from colleague.home import Home

    place = Home.find(given if isinstance(given, Path) else None)
    if not place.root.is_dir():
        return [DoctorCheck("home", "error", f"{place.root} does not exist", "colleague init")]
    found = list(_home(place))
    try:
        settings = load_settings(place)
    except ColleagueError as error:
        return [*found, DoctorCheck("settings", "error", error.message, error.hint)]
    parts: dict[str, Iterator[DoctorCheck] | AsyncIterator[DoctorCheck]] = {
        "variables": _variables(place),
        "clock": _clock(place),
        "settings": _settings(place, settings),
        "web": _web(settings),
        "traces": _traces(place),
        "sandbox": _sandbox(place, settings),
        "plugins": _plugins(place, settings),
        "skills": _skills(place, settings),
        "database": _database(place, settings),
        "model": _model(place, settings),
        "servers": _servers(place, settings),
        "experts": _experts(place, settings),
        "gateway": _gateway(place, settings),
    }
    for about, checks in parts.items():
        if callable(tell):
            tell(f"Looking at {about}")
        found += [each async for each in _to_the_end(about, checks)]
    return found


async def _to_the_end(
    about: str, checks: Iterator[DoctorCheck] | AsyncIterator[DoctorCheck]
) -> AsyncIterator[DoctorCheck]:
    """What a part finds; what stops it is a finding as well, and keeps nobody from looking at the others."""
    from colleague.errors import ColleagueError

    try:
        if isinstance(checks, AsyncIterator):
            async for each in checks:
                yield each
        else:
            for each in checks:
                yield each
    except ColleagueError as error:
        yield DoctorCheck(about, "error", error.message, error.hint)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        yield DoctorCheck(about, "error", f"{error.strerror or error}{where}")


def _home(home: Home) -> Iterator[DoctorCheck]:
    import os
    import shutil

    if not os.access(home.root, os.W_OK):
        yield DoctorCheck("home", "error", f"{home.root} cannot be written", "check its owner and mode")
    else:
        yield DoctorCheck("home", "ok", str(home.root))
    yield from _permissions(home)
    free = shutil.disk_usage(home.root).free
    if free < LITTLE_SPACE:
        yield DoctorCheck(
            "disk", "error", f"only {free // 1_000_000} MB are free", "make room; nothing is accepted without"
        )


def _variables(home: Home) -> Iterator[DoctorCheck]:
    """What `.env` adds; it was read when this command began."""
    from colleague.env_file import overridden, read_env_file

    found = read_env_file(home.env_file)
    if found:
        yield DoctorCheck("variables", "ok", f"{len(found)} in {home.env_file}")
    for name in overridden(found):
        message = f"{name} is set where this command was started, too, and that counts, not {home.env_file}"
        yield DoctorCheck("variables", "warning", message, f"unset {name}, if it is the old one")


def _permissions(home: Home) -> Iterator[DoctorCheck]:
    """The home itself counts most; what is in it was perhaps copied, or written by an older version."""
    from colleague.permissions import open_to_others

    found = open_to_others(home)
    if not found:
        return
    first = ", ".join(str(path) for path in found[:MOST_PATHS])
    more = f" and {len(found) - MOST_PATHS} more" if len(found) > MOST_PATHS else ""
    message = f"other users of this machine may read {first}{more}"
    yield DoctorCheck("permissions", "warning", message, "colleague doctor --fix")


def _fixed(given: object) -> list[DoctorCheck]:
    """What --fix did. It changes modes and nothing else."""
    from pathlib import Path

    from colleague.cli.change_record import record_change
    from colleague.home import Home
    from colleague.permissions import close_to_others, open_to_others

    place = Home.find(given if isinstance(given, Path) else None)
    found = open_to_others(place)
    failed = close_to_others(found)
    if len(found) > len(failed):
        record_change(place, "permissions.close", str(place.root), files=len(found) - len(failed))
    done = [DoctorCheck("fixed", "ok", f"{len(found) - len(failed)} files and folders are closed to others")]
    cure = "change its mode as its owner"
    return (done if len(found) > len(failed) else []) + [
        DoctorCheck("fixed", "error", f"{path} could not be changed", cure) for path in failed[:MOST_PATHS]
    ]


def _clock(home: Home) -> Iterator[DoctorCheck]:
    from colleague.clock_file import home_clock

    if doubt := home_clock(home).doubt():
        yield DoctorCheck("clock", "warning", doubt, "set the clock right, if it is wrong; else wait")


def _settings(home: Home, settings: Settings) -> Iterator[DoctorCheck]:
    from colleague.config.status import unenforced, without_effect
    from colleague.plugins.report import served_channels

    for warning in settings.warnings:
        yield DoctorCheck("settings", "warning", str(warning), warning.hint)
    refused = unenforced(settings)
    for restriction in refused:
        yield DoctorCheck("settings", "error", str(restriction), restriction.cure)
    idle = without_effect(settings, served_channels(home, settings))
    for key in idle[:MOST_KEYS]:
        yield DoctorCheck("settings", "warning", str(key), key.cure)
    if len(idle) > MOST_KEYS:
        message = f"{len(idle) - MOST_KEYS} more keys have no effect"
        yield DoctorCheck("settings", "warning", message, "colleague config check")
    file = home.settings_file
    if not refused:
        yield DoctorCheck("settings", "ok", str(file) if file.exists() else "none; the defaults count")
    yield from _workspace(home, settings)


def _web(settings: Settings) -> Iterator[DoctorCheck]:
    """What is set up by half, and why there is no browser: neither has to be there."""
    import os

    from colleague.agent.browser.browsers import missing_browser
    from colleague.agent.web.search_providers import search_provider
    from colleague.errors import ConfigError

    try:
        search_provider(settings.tools.web.search, os.environ, {})
    except ConfigError as error:
        yield DoctorCheck("web search", "warning", error.message, error.hint)
    if missing := missing_browser():
        yield DoctorCheck("browser", "ok", f"not offered to agents: {missing}")


def _sandbox(home: Home, settings: Settings) -> Iterator[DoctorCheck]:
    """Whether what the settings confine can be confined: each backend in use is really tried."""
    import os

    from colleague.sandbox.backends import backend_of, sandboxing_agents

    backends = {
        (backend := backend_of(home, settings, each, os.environ)).name: backend
        for each in sandboxing_agents(settings)
    }
    for name, backend in backends.items():
        if problem := backend.problem():
            message = f"{problem}; nothing of sandboxed sessions starts"
            yield DoctorCheck("sandbox", "error", message, backend.cure)
        else:
            yield DoctorCheck("sandbox", "ok", f"{name} confines")
    if not backends:
        yield DoctorCheck("sandbox", "ok", "off: sandbox.mode")


def _workspace(home: Home, settings: Settings) -> Iterator[DoctorCheck]:
    from colleague.agent.pictures.avatar import avatar_problems
    from colleague.agent.prompt.workspace_files import file_problems
    from colleague.experts.restrictions import ExpertRestrictions
    from colleague.protected import KEY, workspace_problem

    problem = workspace_problem(home, settings.workspace)
    if problem:
        cure = f"set {KEY} to a folder of its own, such as {home.workspace}; until then nothing runs"
        yield DoctorCheck("workspace", "error", problem, cure)
    else:
        yield DoctorCheck("workspace", "ok", str(settings.workspace))
    for each in file_problems(settings):
        yield DoctorCheck("prompt", "warning", each, "see: colleague prompt --sizes")
    for each in avatar_problems(home, settings, ExpertRestrictions(home, settings)):
        yield DoctorCheck("agents", "warning", each, "the page shows the agent without it")


def _traces(home: Home) -> Iterator[DoctorCheck]:
    """Which traces the environment of this command switches on; a gateway has its own."""
    import os

    from colleague.agent.tracing.switches import TraceSwitches

    switches = TraceSwitches.of(home.logs, os.environ)
    yield DoctorCheck("traces", "ok", "; ".join(switches.sentences()) or "off")
    for problem in switches.problems:
        yield DoctorCheck("traces", "warning", problem, "see docs/tracing.md")


def _plugins(home: Home, settings: Settings) -> Iterator[DoctorCheck]:
    from colleague.cli.plugin import documents
    from colleague.errors import ColleagueError

    try:
        found = documents(home, settings)
    except ColleagueError as error:
        yield DoctorCheck("plugins", "error", error.message, error.hint)
        return
    on = [each["name"] for each in found if each["status"] == "on"]
    if found:
        yield DoctorCheck("plugins", "ok", f"on: {', '.join(on) or 'none'}")
    for each in found:
        if each["status"] in ("changed", "gone"):
            message = f"{each['name']} is not loaded: {CHANGED_PLUGIN[each['status']]}"
            yield DoctorCheck(
                "plugins", "warning", message, CURED_PLUGIN[each["status"]].format(each["name"])
            )
        for problem in each["problems"] if each["status"] != "off" else ():
            times = f" ({problem['count']} times)" if problem["count"] > 1 else ""
            message = f"{each['name']}, {problem['place']}: {problem['message']}{times}"
            yield DoctorCheck("plugins", "warning", message, f"colleague plugin disable {each['name']}")


def _skills(home: Home, settings: Settings) -> Iterator[DoctorCheck]:
    from colleague.cli.skill import loaded_skills
    from colleague.main_names import MAIN_AGENT
    from colleague.skills.report import problems

    found, conditions = loaded_skills(home, settings, MAIN_AGENT)
    usable = [each for each in found.skills.values() if conditions.is_eligible(each)]
    ready = sum(map(conditions.is_allowed, usable))
    yield DoctorCheck("skills", "ok", f"{ready} of {len(found.skills)} can be used (colleague skill list)")
    wrong = list(problems(found))
    for message, cure in wrong[:MOST_KEYS]:
        yield DoctorCheck("skills", "warning", message, cure)
    if len(wrong) > MOST_KEYS:
        more = f"{len(wrong) - MOST_KEYS} more cannot be used"
        yield DoctorCheck("skills", "warning", more, "colleague skill list")


async def _database(home: Home, settings: Settings) -> AsyncIterator[DoctorCheck]:
    import os

    from colleague.clock_file import home_clock
    from colleague.errors import ColleagueError, DatabaseUnavailable
    from colleague.store.database_errors import database_errors
    from colleague.store.open_database import open_database

    kind = "SQLite" if settings.experts.database is None else "PostgreSQL"
    try:
        database = open_database(home, settings, os.environ, home_clock(home))
        try:
            waiting = await database.read(_waiting)
        finally:
            await database.close()
    except database_errors(ColleagueError, DatabaseUnavailable, OSError) as error:
        message = getattr(error, "message", str(error).splitlines()[0])
        cure = getattr(error, "hint", "") or "check experts.database in colleague.json, and that it runs"
        yield DoctorCheck("database", "error", f"{kind}: {message}", cure)
        return
    yield DoctorCheck("database", "ok", kind)
    for each in waiting:
        yield each


def _waiting(tx: Tx) -> list[DoctorCheck]:
    """What a person has to look at, each with the list that shows as many."""
    from colleague.store.overview import (
        count_dead_letters,
        count_learnings,
        count_questions,
        count_unread,
        unsent,
    )

    counted = (
        ("runs", count_dead_letters, "dead letter waits|dead letters wait", "colleague deadletter list"),
        ("runs", count_questions, "question waits|questions wait", "colleague approval list"),
        ("runs", count_learnings, "learning waits|learnings wait", "colleague learning list"),
        (
            "delivery",
            unsent,
            "message is not delivered yet|messages are not delivered yet",
            "colleague status",
        ),
        ("delivery", count_unread, "result is unread|results are unread", "colleague delivery list"),
    )
    found = [(about, count(tx), what.split("|"), cure) for about, count, what, cure in counted]
    return [DoctorCheck(about, "warning", f"{n} {what[n > 1]}", cure) for about, n, what, cure in found if n]


async def _model(home: Home, settings: Settings) -> AsyncIterator[DoctorCheck]:
    import os

    from colleague.agent.models.resolve import resolve_model
    from colleague.cli.gateway_answer import gateway_answer
    from colleague.errors import ColleagueError

    offered = await gateway_answer(home, lambda gateway: gateway.models())
    if offered is not None:
        yield _model_at_gateway(home, offered)
        return
    try:
        yield _usable(resolve_model(settings, os.environ, folder=home.root).name)
    except ColleagueError as error:
        yield DoctorCheck("model", "error", error.message, error.hint)


def _model_at_gateway(home: Home, offered: Sequence[OfferedModel]) -> DoctorCheck:
    from colleague.agent.models.resolve import NoModel

    default = next((each for each in offered if each["default"]), None)
    if default is None:
        return DoctorCheck("model", "error", f"the gateway says: {NoModel().message}", NoModel().hint)
    if default["problem"]:
        cure = f"mend it where colleague serve is started, or in {home.env_file}, and start it again"
        return DoctorCheck("model", "error", f"the gateway says: {default['problem']}", cure)
    return _usable(default["name"])


def _usable(name: str) -> DoctorCheck:
    from colleague.cli.typed import with_home

    return DoctorCheck("model", "ok", f"{name} ({with_home('ask it with: colleague model probe')})")


async def _servers(home: Home, settings: Settings) -> AsyncIterator[DoctorCheck]:
    import asyncio
    import os

    from colleague.cli.held_servers import servers_on_hold
    from colleague.mcp.errors import McpError
    from colleague.mcp.servers import Servers

    held = await servers_on_hold(home, settings)
    for name in sorted(held):
        message = "it waits for a yes and is not started"
        yield DoctorCheck(f"MCP server {name}", "warning", message, f"colleague mcp accept {name}")
    enabled = [name for name, server in settings.mcp.servers.items() if server.enabled]
    names = [name for name in enabled if name not in held]
    async with Servers.of(home, settings, os.environ, held=held) as servers:
        answers = await asyncio.gather(*(servers.tools(name) for name in names), return_exceptions=True)
        found = await servers.status()
    findings = {each.name: each.findings for each in found}
    changes = {each.name: each.changes for each in found}
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, McpError):
            yield await _server_at_gateway(home, name, answer)
        elif isinstance(answer, BaseException):
            yield DoctorCheck(f"MCP server {name}", "error", str(answer), f"colleague mcp probe {name}")
        else:
            yield DoctorCheck(f"MCP server {name}", "ok", f"{len(answer)} tools")
            for finding in findings.get(name, ()):
                yield DoctorCheck(f"MCP server {name}", "warning", finding, f"colleague mcp probe {name}")
            for change in changes[name]:
                message = f"{change}, since you accepted its tools"
                yield DoctorCheck(f"MCP server {name}", "warning", message, f"colleague mcp accept {name}")


async def _server_at_gateway(home: Home, name: str, failure: McpError) -> DoctorCheck:
    """A server that does not start here may do so in the gateway, which has other variables."""
    from colleague.cli.gateway_answer import gateway_answer

    probed = await gateway_answer(home, lambda gateway: gateway.probe_server(name))
    if probed is not None and probed["ok"]:
        return DoctorCheck(f"MCP server {name}", "ok", f"{len(probed['tools'])} tools, in the gateway")
    return DoctorCheck(f"MCP server {name}", "error", failure.message, failure.hint)


async def _experts(home: Home, settings: Settings) -> AsyncIterator[DoctorCheck]:
    from colleague.cli.expert_notice import notice
    from colleague.cli.gateway_triggers import problems_at_gateway
    from colleague.experts.binding_checks import binding_context, check_bindings
    from colleague.experts.expert import discover
    from colleague.packages.finding import Findings
    from colleague.plugins.report import plugin_channels
    from colleague.plugins.skill_folders import plugin_skill_folders

    channels, skills = plugin_channels(home, settings), plugin_skill_folders(home, settings)
    at_gateway = await problems_at_gateway(home) or {}
    for expert in discover(home):
        reading = expert.read()
        findings = Findings()
        if reading.package is not None:
            around = binding_context(settings, home.root, expert.name, skills)
            check_bindings(expert, reading.package, around, findings)
        errors = [*reading.findings.errors, *findings.errors]
        cure = f"colleague expert validate {expert.name}"
        if errors:
            yield DoctorCheck(f"expert {expert.name}", "error", str(errors[0]), cure)
        else:
            state = "enabled" if expert.record.enabled else "disabled: its triggers are off"
            yield DoctorCheck(f"expert {expert.name}", "ok", state)
            for checked in _broken_triggers(expert, settings, channels, at_gateway):
                yield checked
        said, command = notice(expert)
        if said:
            yield DoctorCheck(f"expert {expert.name}", "warning", said, command)


def _broken_triggers(
    expert: Expert,
    settings: Settings,
    channels: Collection[str],
    at_gateway: Mapping[tuple[str, str], Problems],
) -> Iterator[DoctorCheck]:
    """Of an expert whose triggers are on. What the gateway says of one counts."""
    import os

    from colleague.triggers.problems import trigger_problems
    from colleague.triggers.registry import bind_triggers

    for bound_trigger in bind_triggers(expert) if expert.record.enabled else ():
        here = [each.as_dict() for each in trigger_problems(bound_trigger, settings, os.environ, channels)]
        for problem in at_gateway.get(bound_trigger.key, here):
            about = f"trigger {'/'.join(bound_trigger.key)}"
            yield DoctorCheck(about, "error", problem["message"], problem["cure"])


async def _gateway(home: Home, settings: Settings) -> AsyncIterator[DoctorCheck]:
    from colleague.errors import HomeBusy
    from colleague.runtime.gateway_file import read_gateway_file

    running = read_gateway_file(home)
    try:
        with home.working(wait_seconds=0):
            busy = False
    except HomeBusy:
        busy = True
    if busy and running is not None:
        yield DoctorCheck("gateway", "ok", f"pid {running.pid} at {running.url}")
        async for each in _gateway_problems(home):
            yield each
    elif busy:
        yield DoctorCheck("gateway", "ok", "another command works on this home")
    else:
        async for each in _port(settings):
            yield each


async def _gateway_problems(home: Home) -> AsyncIterator[DoctorCheck]:
    """What the gateway itself says is wrong."""
    from colleague.errors import ColleagueError
    from colleague.runtime.remote_service import RemoteService

    try:
        problems = await RemoteService(home).problems()
    except ColleagueError as error:
        cure = "if gateway.auth has changed, start the gateway again"
        yield DoctorCheck("gateway", "warning", error.message, cure)
        return
    for each in problems:
        yield DoctorCheck("gateway", "warning", each)


async def _port(settings: Settings) -> AsyncIterator[DoctorCheck]:
    from colleague.errors import ColleagueError
    from colleague.gateway.listening import Listening

    try:
        where = Listening.of(settings)
        where.open().close()
    except ColleagueError as error:
        yield DoctorCheck("gateway", "error", error.message, error.hint)
        return
    cure = "start it with: colleague serve"
    yield DoctorCheck("gateway", "warning", f"not running, so no trigger fires; {where.url} is free", cure)
