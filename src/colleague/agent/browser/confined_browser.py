"""Chromium in a sandbox of bubblewrap: no files of the machine, and no network but the filtering proxy."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from colleague.sandbox.bubblewrap import isolation

RELAY = Path(__file__).with_name("relay.py")
PORT = 3128
"""On the loopback of the sandbox, which nobody else has."""
_TMP_MB = 512
_SETTINGS = ("/etc/fonts", "/etc/chromium", "/etc/chromium.d")


@dataclass(frozen=True)
class ConfinedBrowser:
    """`folder` holds what goes through the wall: the socket of the proxy, and `downloads`."""

    folder: Path
    program: str

    @property
    def door(self) -> Path:
        return self.folder / "proxy.sock"

    @property
    def downloads(self) -> Path:
        return self.folder / "downloads"

    def launcher(self) -> Path:
        """A program that takes the arguments of Chromium and starts it inside."""
        self.downloads.mkdir(exist_ok=True)
        file = self.folder / "chromium"
        line = shlex.join([*self._options(), "--", *self._command()])
        file.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        file.chmod(0o700)
        return file

    def _options(self) -> list[str]:
        options = [
            shutil.which("bwrap") or "bwrap",
            *isolation(network=False),
            *("--size", str(_TMP_MB << 20), "--tmpfs", "/tmp"),  # noqa: S108 - its own
            *("--setenv", "HOME", "/tmp", "--chdir", "/tmp"),  # noqa: S108
            *("--bind", str(self.folder), str(self.folder)),
        ]
        for each in _SETTINGS:
            options += ["--ro-bind-try", each, each]
        for each in dict.fromkeys([os.path.realpath(sys.base_prefix), str(RELAY)]):
            if not each.startswith("/usr/"):
                options += ["--ro-bind", each, each]
        return options

    def _command(self) -> list[str]:
        python = os.path.realpath(sys.executable)
        return [python, "-I", "-S", str(RELAY), str(PORT), str(self.door), self.program]
