"""Which MCP servers of the settings a person has accepted.

Starting a command accepts what the file says then. What a running gateway reads later is held until a person
accepts it, or starts the gateway again."""

from __future__ import annotations

from collections.abc import Collection

from colleague.config import Settings
from colleague.config.settings import McpServer
from colleague.errors import ColleagueError, NotFound
from colleague.mcp.launch import shown_command
from colleague.mcp.launch_digest import entry_digest
from colleague.store.accepted_launches import LaunchEntry, accept_launch, accepted_digests
from colleague.store.tx import Database, Tx
from colleague.user_name import user_name


class EntryChanged(ColleagueError):
    """The entry is not the one that was looked at."""


def launch_entry(name: str, server: McpServer) -> LaunchEntry:
    return LaunchEntry(entry_digest(server), name, shown_command(server))


def find_entry(settings: Settings, name: str) -> LaunchEntry:
    server = settings.mcp.servers.get(name)
    if server is None:
        raise NotFound(f"there is no MCP server {name!r}", hint="see them with: colleague mcp list")
    return launch_entry(name, server)


def _enabled(settings: Settings) -> list[LaunchEntry]:
    return [launch_entry(name, each) for name, each in settings.mcp.servers.items() if each.enabled]


async def _not_accepted(database: Database, entries: Collection[LaunchEntry]) -> list[LaunchEntry]:
    digests = {each.digest for each in entries}
    accepted = await database.read(lambda tx: accepted_digests(tx, digests)) if digests else frozenset()
    return [each for each in entries if each.digest not in accepted]


async def held_servers(database: Database, settings: Settings) -> frozenset[str]:
    """The servers whose entry nobody has accepted."""
    return frozenset(each.server for each in await _not_accepted(database, _enabled(settings)))


async def accept_all(database: Database, settings: Settings) -> None:
    """What the file says when a person starts something."""
    new, by = await _not_accepted(database, _enabled(settings)), f"{user_name()}, at a start"

    def work(tx: Tx) -> None:
        for each in new:
            accept_launch(tx, each, by)

    if new:
        await database.write(work)


async def accept_one(database: Database, settings: Settings, name: str, digest: str, by: str) -> LaunchEntry:
    """`digest` is of the entry that the person looked at."""
    entry = find_entry(settings, name)
    if entry.digest != digest:
        raise EntryChanged(
            f"the entry of the MCP server {name} is not the one you looked at",
            hint="look at it again with: colleague mcp list",
        )
    await database.write(lambda tx: accept_launch(tx, entry, by))
    return entry
