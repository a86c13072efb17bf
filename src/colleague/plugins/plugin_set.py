"""The plugins of a process: all that are enabled, loaded, and what they bring together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.provided import providing
from colleague.agent.models.resolve import SCRIPT
from colleague.channels.channel import MessageChannel
from colleague.channels.channel_list import OWN_CHANNELS
from colleague.config import Settings
from colleague.config.channel_access import is_channel_on
from colleague.config.secret import Secret, resolve
from colleague.errors import ColleagueError, ConfigError
from colleague.files import private_folder
from colleague.home import Home
from colleague.hooks.plugin_call import PluginCallFailed, PluginCallLate, call_plugin
from colleague.hooks.runner import HookProblem, PluginHooks
from colleague.plugins.api import PluginApi
from colleague.plugins.discovery import FoundPlugin, find_plugins
from colleague.plugins.loader import load
from colleague.plugins.message_receiver import MessageReceiver
from colleague.plugins.native_tools import NATIVE_TOOLS
from colleague.plugins.problem_book import ProblemBook
from colleague.plugins.providers import ModelProvider, SearchProvider, SpeechProvider
from colleague.plugins.records import PluginRecord, change_record, read_plugin_records
from colleague.plugins.report import LOAD
from colleague.plugins.tool import PluginTools

log = logging.getLogger(__name__)
T = TypeVar("T")

LOAD_SECONDS = 30.0
CHANGED = "its files are not those that a person enabled"


@dataclass(frozen=True)
class PluginSet:
    """What all plugins bring, names that were taken already left out."""

    hooks: PluginHooks = field(default_factory=PluginHooks)
    tools: PluginTools = field(default_factory=lambda: PluginTools(()))
    channels: Mapping[str, MessageChannel] = field(default_factory=dict)
    model_providers: Mapping[str, ModelProvider] = field(default_factory=dict)
    search_providers: Mapping[str, SearchProvider] = field(default_factory=dict)
    speech_providers: Mapping[str, SpeechProvider] = field(default_factory=dict)
    receiver: MessageReceiver = field(default_factory=MessageReceiver)
    """Where plugins bring messages."""


@contextlib.asynccontextmanager
async def open_plugins(
    home: Home, settings: Settings, environ: Mapping[str, str]
) -> AsyncIterator[PluginSet]:
    """Loads what is enabled. A plugin that cannot be loaded is reported and left out; nothing else stops."""
    book = ProblemBook(home)
    receiver = MessageReceiver()
    apis = await _loaded(home, settings, environ, book)
    for api in apis:
        api.receiver = receiver
    found = replace(_together(settings, apis, book), receiver=receiver)
    found.hooks.use_loop(asyncio.get_running_loop())
    try:
        with providing(found.model_providers):
            yield found
    finally:
        await found.hooks.drain()
        book.close()


async def _loaded(
    home: Home, settings: Settings, environ: Mapping[str, str], book: ProblemBook
) -> list[PluginApi]:
    records = _enabled(home) if settings.plugins.enabled else {}
    if not records:
        return []
    found = find_plugins(home)
    apis: list[PluginApi] = []
    for name, record in records.items():
        entry = settings.plugins.entries.get(name)
        if entry is not None and not entry.enabled:
            continue
        problem = why_not(record, found.get(name))
        if problem:
            book(HookProblem(name, LOAD, problem))
            continue
        api = await load_one(home, settings, environ, found[name])
        apis += [api] if isinstance(api, PluginApi) else []
    return apis


def _enabled(home: Home) -> dict[str, PluginRecord]:
    try:
        return {name: each for name, each in read_plugin_records(home).items() if each.enabled}
    except ConfigError as error:
        log.warning("no plugin is loaded: %s", error.message)
        return {}


def why_not(record: PluginRecord, found: FoundPlugin | None) -> str:
    """Why an enabled plugin cannot be loaded; empty when it can."""
    if found is None:
        return "it is not there any more"
    if found.problem:
        return found.problem
    return "" if found.digest == record.digest else f"{CHANGED}: look at them, then enable it again"


async def load_one(
    home: Home, settings: Settings, environ: Mapping[str, str], found: FoundPlugin
) -> PluginApi | str:
    """The plugin with what it registered, or the sentence why it cannot be loaded. Both are written down."""
    try:
        api = _api(home, settings, environ, found)
        await call_plugin(load, found, api, seconds=LOAD_SECONDS)
    except (PluginCallFailed, PluginCallLate) as error:
        problem = str(error)
    except (ColleagueError, OSError) as error:
        problem = error.message if isinstance(error, ColleagueError) else str(error)
    else:
        change_record(home, found.name, lambda record: _loaded_well(record, api))
        return api
    log.warning("the plugin %s cannot be loaded: %s", found.name, problem)
    change_record(home, found.name, lambda record: _loaded_well(record, None).with_problem(LOAD, problem))
    return problem


def _loaded_well(record: PluginRecord, api: PluginApi | None) -> PluginRecord:
    others = tuple(each for each in record.problems if each.place != LOAD)
    return replace(record, problems=others, registered=api.registered if api else {})


def _api(home: Home, settings: Settings, environ: Mapping[str, str], found: FoundPlugin) -> PluginApi:
    entry = settings.plugins.entries.get(found.name)
    key = f"plugins.entries.{found.name}.config"
    config = _filled(dict(entry.config) if entry else {}, environ, key)
    data = home.state / "plugin-data" / found.name
    private_folder(data)

    def channel_config(channel: str) -> Mapping[str, Any]:
        filled: Mapping[str, Any] = _filled(
            settings.channels.get(channel, {}), environ, f"channels.{channel}"
        )
        return filled

    return PluginApi(found.name, found.path, data, found.digest, config, channel_config)


def _filled(value: Any, environ: Mapping[str, str], key: str) -> Any:
    """With `${NAME}` replaced. Raises ConfigError for a variable that is not set."""
    if isinstance(value, Mapping):
        return {name: _filled(each, environ, f"{key}.{name}") for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, environ, key) for each in value]
    return resolve(value, environ, key=key) if isinstance(value, str | Secret) else value


def _together(settings: Settings, apis: Sequence[PluginApi], book: ProblemBook) -> PluginSet:
    """Who came first, by name, keeps a name; natively known names are ours."""
    hooks = PluginHooks(
        [handler for api in apis for handler in api.handlers],
        seconds=settings.plugins.hook_timeout_seconds,
        report=book,
    )
    known = {*settings.models.providers, *BUILT_IN, SCRIPT, "rehearsal"}
    tools = _left(apis, book, "tool", lambda api: api.tools, NATIVE_TOOLS)
    return PluginSet(
        hooks,
        PluginTools([replace(each, report=book) for each in tools.values()]),
        _channels(settings, apis, book),
        _left(apis, book, "model provider", lambda api: api.model_providers, known),
        _left(apis, book, "search provider", lambda api: api.search_providers, ("searxng", "brave")),
        _left(apis, book, "speech provider", lambda api: api.speech_providers, ("espeak-ng",)),
    )


def _channels(settings: Settings, apis: Sequence[PluginApi], book: ProblemBook) -> dict[str, MessageChannel]:
    found = _left(apis, book, "channel", lambda api: api.channels, OWN_CHANNELS)
    return {name: each for name, each in found.items() if is_channel_on(settings.channels, name)}


def _left(
    apis: Sequence[PluginApi],
    book: ProblemBook,
    what: str,
    added: Callable[[PluginApi], Mapping[str, T]],
    taken: Collection[str],
) -> dict[str, T]:
    """What plugins add of one kind, without names that exist already: these are reported."""
    left: dict[str, T] = {}
    for api in apis:
        for name, each in added(api).items():
            if name in taken or name in left:
                message = f"the {what} {name!r} exists already, so this one is left out: give it another name"
                book(HookProblem(api.name, f"{what} {name}", message))
            else:
                left[name] = each
    return left
