"""How many runs of a trigger go on at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.packages.fields import Fields
from colleague.packages.payload_path import PayloadPath, parse_payload_path

Mode = Literal["parallel", "serial", "serial_per_key"]
MODES: tuple[Mode, ...] = ("parallel", "serial", "serial_per_key")


@dataclass(frozen=True)
class Concurrency:
    """The mode of a trigger, and for `serial_per_key` the path of its key."""

    mode: Mode = "parallel"
    key: PayloadPath | None = None

    def __str__(self) -> str:
        if self.mode == "serial_per_key" and self.key:
            return f"{self.mode}: {self.key.text}"
        return self.mode


def read_concurrency(fields: Fields, mode: str, key: str, default: Concurrency) -> Concurrency:
    """The concurrency in the fields called `mode` and `key`, over what is inherited."""
    path = fields.parsed(key, parse_payload_path, "payload-path-invalid")
    chosen = cast(Mode, fields.choice(mode, MODES, default.mode))
    return Concurrency(chosen, path or default.key)
