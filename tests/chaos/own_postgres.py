"""A PostgreSQL of one test's own, which can be killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil

SECONDS = 120


@dataclass
class OwnPostgres:
    url: str
    folder: Path
    user: str | None

    @property
    def pid(self) -> int:
        return int((self.folder / "postmaster.pid").read_text().split("\n")[0])

    def kill(self) -> None:
        """With -9; what it leaves behind ends by itself."""
        children = psutil.Process(self.pid).children()
        os.kill(self.pid, signal.SIGKILL)
        psutil.wait_procs(children, SECONDS)

    def start(self) -> None:
        sockets = parse_qs(urlsplit(self.url).query)["host"][0]
        log = str(self.folder / "log")
        self._control("-w", "-o", '-h ""', "-o", f"-k {sockets}", "-l", log, "start")

    def stop(self) -> None:
        with contextlib.suppress(Exception):  # it may be down
            self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        from pgserver import _commands

        pg_ctl: Any = _commands.pg_ctl  # type: ignore[attr-defined]
        pg_ctl([*arguments], pgdata=self.folder, user=self.user, timeout=SECONDS)


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    import pgserver

    with tempfile.TemporaryDirectory(prefix="colleague-own-pg-") as folder:
        server = pgserver.get_server(folder, cleanup_mode=None)
        found = OwnPostgres(server.get_uri(), Path(folder), server.system_user)
        try:
            yield found
        finally:
            found.stop()
            server.cleanup()
