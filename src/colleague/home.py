"""Where everything of one user lives: the paths under `~/.openclaw`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colleague.files import locked

LOCK_SECONDS = 3.0
HOME_VARIABLE = "OPENCLAW_STATE_DIR"


@dataclass(frozen=True)
class Home:
    """The folder that holds a user's experts, settings, workspace and state."""

    root: Path

    @classmethod
    def find(cls, given: Path | None = None) -> Home:
        """The home named on the command line, else OPENCLAW_STATE_DIR, else ~/.openclaw."""
        named = given or os.environ.get(HOME_VARIABLE) or Path.home() / ".openclaw"
        return cls(Path(named).expanduser().absolute())

    @property
    def settings_file(self) -> Path:
        return self.root / "colleague.json"

    @property
    def openclaw_file(self) -> Path:
        return self.root / "openclaw.json"

    @property
    def env_file(self) -> Path:
        return self.root / ".env"

    @property
    def experts(self) -> Path:
        return self.root / "experts"

    @property
    def workspace(self) -> Path:
        """The default workspace; `agents.defaults.workspace` may name another."""
        return self.root / "workspace"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def database_file(self) -> Path:
        return self.state / "colleague.sqlite"

    @property
    def identity_file(self) -> Path:
        return self.state / "database.json"

    @property
    def clock_file(self) -> Path:
        return self.state / "clock.json"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def registry_file(self) -> Path:
        return self.state / "experts.json"

    @property
    def plugins(self) -> Path:
        return self.root / "plugins"

    @property
    def plugins_file(self) -> Path:
        return self.state / "plugins.json"

    @property
    def snapshots(self) -> Path:
        return self.state / "packages"

    def expert(self, name: str) -> Path:
        return self.experts / name

    @contextlib.contextmanager
    def working(self, *, wait_seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Holding this proves that nobody else works on this home, and that every predecessor is dead."""
        with locked(self.state / "lock", wait_seconds=wait_seconds):
            yield

    @contextlib.contextmanager
    def changing_experts(self) -> Iterator[None]:
        """Only one process at a time installs, updates, binds or removes experts."""
        if not self.root.exists():
            self.root.mkdir(parents=True, mode=0o700)
        with locked(self.state / "experts.lock"):
            yield
