"""The settings while the gateway runs: read again when a file changes; a broken one changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from colleague.config import Settings, load_settings
from colleague.errors import ColleagueError
from colleague.gateway.keys import Keys, keys_of
from colleague.gateway.listening import Listening
from colleague.home import Home
from colleague.protected import require_safe_workspace

log = logging.getLogger(__name__)

Stamps = tuple[tuple[int, int, int] | None, ...]


@dataclass
class LiveSettings:
    """What counts now. `problem` says why the files on disk are not it; empty when they are."""

    home: Home
    environ: Mapping[str, str]
    listening: Listening
    settings: Settings
    keys: Keys
    problem: str = ""
    listeners: list[Callable[[Settings], None]] = field(default_factory=list)
    _stamps: Stamps = ()

    @classmethod
    def of(
        cls, home: Home, settings: Settings, environ: Mapping[str, str], listening: Listening
    ) -> LiveSettings:
        """Raises ConfigError when these settings would leave the gateway open."""
        stamps = _stamps(home)
        keys = keys_of(home, settings, environ, listening)
        return cls(home, environ, listening, settings, keys, _stamps=stamps)

    async def run(self, every: float = 1.0) -> None:
        while True:
            await asyncio.sleep(every)
            await self.look()

    async def look(self) -> None:
        """Takes new settings over when a file has changed and makes sense."""
        stamps = _stamps(self.home)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            fresh = await asyncio.to_thread(load_settings, self.home)
            require_safe_workspace(self.home, fresh)
            self.keys = keys_of(self.home, fresh, self.environ, self.listening)
        except (ColleagueError, OSError) as error:
            self.problem = f"the settings stay as they were: {getattr(error, 'message', str(error))}"
            log.warning("%s", self.problem)
            return
        self.problem = self._needs_restart(fresh)
        log.info("the settings have changed and count from now on%s", self.problem and f"; {self.problem}")
        self.settings = fresh
        for listener in self.listeners:
            listener(fresh)

    def _needs_restart(self, fresh: Settings) -> str:
        """Where it listens and what it writes to cannot be changed under its feet."""
        before, after = self.settings, fresh
        parts = {
            "gateway.port": before.gateway.port != after.gateway.port,
            "gateway.bind": before.gateway.bind != after.gateway.bind,
            "experts.database": before.experts.database != after.experts.database,
            "experts.maxConcurrentRuns": (
                before.experts.max_concurrent_runs != after.experts.max_concurrent_runs
            ),
        }
        names = [name for name, changed in parts.items() if changed]
        return f"start the gateway again for {', '.join(names)} to count" if names else ""


def _stamps(home: Home) -> Stamps:
    return tuple(_stamp(file) for file in (home.settings_file, home.openclaw_file))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
