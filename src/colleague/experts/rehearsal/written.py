"""What a rehearsal writes into scratch and state files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from colleague.experts.rehearsal.narrative import short
from colleague.experts.rehearsal.rehearsal_file import StateLine

_EMPTY = "[the file is empty]"
_PARTIAL = re.compile(r"\[(lines \d+ to \d+ of|bytes that are not|\.\.\. [\d,]+ characters left)[^\n]*\]")
_ESCAPED = re.compile(r"\\/\W{0,20}d", re.IGNORECASE)


def scratch_text(what: str, inputs: Mapping[str, Any]) -> str:
    lines = [f"- {name}: {short(str(value))}" for name, value in inputs.items()]
    return "\n".join([f"# Rehearsal of {what}", "", *lines, ""])


def state_text(before: str, step: str, written: StateLine | None = None) -> str | None:
    """The file with a line more; None when `before` is not all of it, so that nothing is ever lost. `written`
    is the line of the package's author."""
    if _PARTIAL.search(before) or _ESCAPED.search(before):
        return None
    kept = "" if before == _EMPTY else before
    if written is not None:
        return _with_line(kept, written)
    end = "" if not kept or kept.endswith("\n") else "\n"
    return f"{kept}{end}- rehearsal: {short(step)}\n"


def _with_line(text: str, written: StateLine) -> str:
    """At the end of its part, or of the file without such a heading. The same line stands there once."""
    lines = text.splitlines()
    if written.line in lines:
        return text
    place = len(lines)
    if written.under in lines:
        start = lines.index(written.under) + 1
        place = next((at for at in range(start, len(lines)) if lines[at].startswith("#")), len(lines))
    while place > 0 and not lines[place - 1].strip():
        place -= 1
    if place and written.line.startswith("-") and not lines[place - 1].startswith("-"):
        lines.insert(place, "")
        place += 1
    lines.insert(place, written.line)
    return "\n".join(lines) + "\n"
