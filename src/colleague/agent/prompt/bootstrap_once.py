"""BOOTSTRAP.md, which an agent reads once: in the first turn with a person that completes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.prompt.bootstrap_files import FIRST_CONVERSATION
from colleague.file_stamp import FileStamp, file_stamp

log = logging.getLogger(__name__)

SET_ASIDE = "BOOTSTRAP.done.md"
"""What it is called once it was read. Renamed back, it is read once more."""


@dataclass(frozen=True)
class BootstrapOnce:
    """The file as a turn has read it."""

    file: Path
    stamp: FileStamp

    @classmethod
    def of(cls, workspace: Path) -> BootstrapOnce | None:
        """None when there is none, or it was read."""
        file = workspace / FIRST_CONVERSATION
        if file.is_symlink() or not file.is_file():
            return None
        stamp = file_stamp(file)
        return cls(file, stamp) if stamp else None

    def set_aside(self) -> None:
        """Renames it, unless somebody has changed it since it was read."""
        try:
            if file_stamp(self.file) == self.stamp:
                self.file.replace(self.file.with_name(SET_ASIDE))
        except OSError as error:
            log.warning("%s is told once more, because it cannot be renamed: %s", self.file.name, error)
