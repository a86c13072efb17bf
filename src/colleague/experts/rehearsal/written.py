"""What a rehearsal writes into scratch and state files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from colleague.experts.rehearsal.narrative import short

_EMPTY = "[the file is empty]"
_PARTIAL = re.compile(r"\[(lines \d+ to \d+ of|bytes that are not|\.\.\. [\d,]+ characters left)[^\n]*\]")
_ESCAPED = re.compile(r"\\/\W{0,20}d", re.IGNORECASE)


def scratch_text(what: str, inputs: Mapping[str, Any]) -> str:
    lines = [f"- {name}: {short(str(value))}" for name, value in inputs.items()]
    return "\n".join([f"# Rehearsal of {what}", "", *lines, ""])


def state_text(before: str, step: str) -> str | None:
    """The file with a line more; None when `before` is not all of it, so that nothing is ever lost."""
    if _PARTIAL.search(before) or _ESCAPED.search(before):
        return None
    kept = "" if before == _EMPTY else before
    end = "" if not kept or kept.endswith("\n") else "\n"
    return f"{kept}{end}- rehearsal: {short(step)}\n"
