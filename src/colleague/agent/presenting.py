"""How a result looks to the model: untrusted text stays data, and long text is cut in the middle."""

from __future__ import annotations

from collections.abc import Callable

from colleague.agent.conversation import Result
from colleague.store.journal import Call

HEAD = 0.7
TAIL = 0.2


def presenter(limit: int) -> Callable[[Call], str]:
    return lambda call: present(Result.of(call), limit)


def present(result: Result, limit: int) -> str:
    text = shortened(result.text, limit)
    return wrapped(text, result.source) if result.source else text


def wrapped(text: str, source: str) -> str:
    """Whatever stands inside is data with a source; it cannot close the wrapper itself."""
    safe = text.replace("</data", "<\\/data")
    name = source.replace('"', "'").replace("\n", " ")
    return f'<data source="{name}">\n{safe}\n</data>'


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = int(limit * HEAD), int(limit * TAIL)
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"
