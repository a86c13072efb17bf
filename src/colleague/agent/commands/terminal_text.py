"""What a program wrote for a terminal, as text that does nothing to one."""

from __future__ import annotations

import re

_STRING = rb"\x1b[P\]X^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"
_CONTROL = rb"\x1b\[[0-?]*[ -/]*[@-~]?"
_OTHER = rb"\x1b[ -/]*[0-~]?"
_SEQUENCES = re.compile(b"|".join((_STRING, _CONTROL, _OTHER)))
_KEPT = "\n\t"


def terminal_text(data: bytes) -> str:
    """Escape sequences are taken out, other control characters and what is not shown are written out.

    Of a line that was written over again and again, such as a progress bar, the last state is shown."""
    text = _SEQUENCES.sub(b"", data).decode("utf-8", "replace").replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return "".join(map(_harmless, "\n".join(lines)))


def _harmless(character: str) -> str:
    if character in _KEPT or character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
