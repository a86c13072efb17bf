"""The sandbox of an MCP server: the machine's programs, the folders it is given, and one of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import ConfigError
from colleague.sandbox.backend import INSIDE
from colleague.sandbox.bubblewrap import bubblewrap_cure, bubblewrap_problem, isolation

if TYPE_CHECKING:
    from colleague.config.settings import McpSandbox


@dataclass(frozen=True)
class ServerSandbox:
    """`folder` is its own. The folders of the settings have the same names inside."""

    settings: McpSandbox
    folder: Path

    def wrapped(self, command: Sequence[str], path: str | None, cwd: Path | None) -> list[str]:
        """The command line to start instead. Raises ConfigError."""
        if problem := bubblewrap_problem():
            hint = f"{bubblewrap_cure()}, or remove the key sandbox: the server then runs unconfined"
            raise ConfigError(f"it is to run in a sandbox, and {problem}", hint=hint)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        options = [
            *isolation(network=self.settings.network),
            *("--tmpfs", "/tmp"),  # noqa: S108 - its own
            *("--bind", str(self.folder.resolve()), INSIDE, "--setenv", "HOME", INSIDE),
            *self._folders(),
            *("--chdir", str(cwd) if cwd else INSIDE),
        ]
        program, *rest = command
        program = shutil.which(program, path=path) or program
        return [shutil.which("bwrap") or "bwrap", *options, "--", program, *rest]

    def _folders(self) -> Iterator[str]:
        for option, names in (("--ro-bind", self.settings.read), ("--bind", self.settings.write)):
            for name in names:
                place = Path(name).expanduser()
                if not place.exists():
                    raise ConfigError(f"its sandbox names {name}, which does not exist")
                yield from (option, str(place), str(place))
