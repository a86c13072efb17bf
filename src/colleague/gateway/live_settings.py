"""The settings while the gateway runs: read again when a file changes; a broken one changes nothing.

What would loosen the gateway counts from the next start on, and a server that nobody has accepted is not
started. While the files restrict what nothing enforces, no run begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from colleague.config import Settings, load_settings
from colleague.config.status import require_enforced
from colleague.errors import ColleagueError, ConfigError
from colleague.file_stamp import FileStamp, file_stamp
from colleague.gateway.keys import Keys, keys_of
from colleague.gateway.listening import Listening
from colleague.gateway.restart_only import effective_settings
from colleague.home import Home
from colleague.protected import require_safe_workspace
from colleague.shortage import is_shortage

log = logging.getLogger(__name__)

MOST_WARNINGS = 5
Stamps = tuple[FileStamp | None, ...]
Held = frozenset[str]


async def _none_held(_: Settings) -> Held:
    return frozenset()


@dataclass
class LiveSettings:
    """What counts now. `problem` says why the files on disk are not it; empty when they are.

    `held` are the MCP servers that wait for a yes; `find_held` looks them up in the database. `unenforced`:
    the files hold a restriction that nothing enforces; `on_unenforced` is told when that changes."""

    home: Home
    environ: Mapping[str, str]
    listening: Listening
    started: Settings
    settings: Settings
    keys: Keys
    problem: str = ""
    held: Held = frozenset()
    find_held: Callable[[Settings], Awaitable[Held]] = _none_held
    unenforced: ConfigError | None = None
    on_unenforced: Callable[[bool], None] = lambda _: None
    listeners: list[Callable[[Settings, Held], None]] = field(default_factory=list)
    _stamps: Stamps = ()
    _variables: FileStamp | None = None
    """Of `.env` when the process read it."""
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of(
        cls, home: Home, settings: Settings, environ: Mapping[str, str], listening: Listening
    ) -> LiveSettings:
        """Raises ConfigError when these settings would leave the gateway open."""
        stamps, variables = _stamps(home), file_stamp(home.env_file)
        keys = keys_of(home, settings, environ, listening)
        return cls(home, environ, listening, settings, settings, keys, _stamps=stamps, _variables=variables)

    async def run(self, every: float = 2.0) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                await self.look()
            except Exception:
                log.exception("the settings could not be looked at; they stay as they were")

    async def look(self) -> None:
        """Takes new settings over when a file has changed and makes sense, and servers once accepted."""
        async with self._looking:
            stamps = _stamps(self.home)
            if stamps != self._stamps:
                await self._renew(stamps)
            elif self.held:
                await self._use(self.settings)

    async def _renew(self, stamps: Stamps) -> None:
        try:
            fresh = await asyncio.to_thread(load_settings, self.home)
            self._check_enforced(fresh)
            require_safe_workspace(self.home, fresh)
            keys_of(self.home, fresh, self.environ, self.listening)
        except (ColleagueError, OSError) as error:
            self._stamps = stamps
            stay = f"the settings stay as they were{', and no run begins' if self.unenforced else ''}"
            self.problem = f"{stay}: {getattr(error, 'message', str(error))}"
            log.warning("%s", self.problem)
            if is_shortage(error):
                self._stamps = ()  # read again soon, though no file changes
            return
        for warning in fresh.warnings[:MOST_WARNINGS]:
            log.warning("%s", warning)
        settings, waiting = effective_settings(self.started, fresh)
        waiting += [self.home.env_file.name] if file_stamp(self.home.env_file) != self._variables else []
        await self._use(settings)
        self._stamps = stamps
        self.problem = f"start the gateway again for {', '.join(waiting)} to count" if waiting else ""
        level = logging.WARNING if waiting else logging.INFO
        more = f"; {self.problem}" if waiting else ""
        log.log(level, "the settings have changed and count from now on%s", more)

    def _check_enforced(self, fresh: Settings) -> None:
        try:
            require_enforced(fresh)
        except ConfigError as error:
            self._note_unenforced(error)
            raise
        self._note_unenforced(None)

    def _note_unenforced(self, error: ConfigError | None) -> None:
        changed = (error is None) != (self.unenforced is None)
        self.unenforced = error
        if changed:
            self.on_unenforced(error is not None)

    async def _use(self, settings: Settings) -> None:
        """Raises, and changes nothing, when it cannot be found out what was accepted."""
        held = await self.find_held(settings)
        if settings is self.settings and held == self.held:
            return
        for name in sorted(held - self.held):
            log.warning("%s", held_text(name))
        self.settings, self.held = settings, held
        for listener in self.listeners:
            listener(settings, held)


def held_text(name: str) -> str:
    return f"the MCP server {name} waits for a yes: look at it, then run colleague mcp accept {name}"


def _stamps(home: Home) -> Stamps:
    return tuple(file_stamp(file) for file in (home.settings_file, home.openclaw_file, home.env_file))
