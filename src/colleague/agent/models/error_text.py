"""The text of a provider's error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_LONGEST = 500
_MOST_READ = 10_000
"""Of a web page. The time that its tags take grows with the square of this."""
_UNSENDABLE = frozenset(("UnsupportedProtocol", "LocalProtocolError", "InvalidURL"))
_AGAIN_IN = re.compile(
    r"(?:retry|try again|retry after|wait) (?:in |for )?((?:\d+(?:\.\d+)?(?:ms|[smh]))+)\b"
)
_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def provider_text(error: Exception, hide: Callable[[str], str] = lambda text: text) -> str:
    """The provider's own sentence, else the network's, on one line.

    `hide` takes secrets out, before anything is cut: the first half of a key is still half a key."""
    page = hide(_message_in(getattr(error, "body", None)))
    text = _without_tags(page[:_MOST_READ]) if page else _own_words(error)
    text = hide(" ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def could_not_be_sent(error: Exception) -> bool:
    """Whether the address or a header is written in a way that cannot be sent."""
    return any(type(each).__name__ in _UNSENDABLE for each in _causes(error))


def seconds_to_wait(error: Exception, text: str) -> float | None:
    """What the header says, else what the sentence says: `try again in 6m0s`."""
    header: float | None = getattr(error, "retry_after", None)
    if header is not None or (match := _AGAIN_IN.search(text.lower())) is None:
        return header
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smh])", match[1])
    return sum(float(number) * _UNIT[unit] for number, unit in parts)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _own_words(error: Exception) -> str:
    if hasattr(error, "status_code"):
        return ""
    if could_not_be_sent(error):
        return "its address, or a header, is not one"
    words = str(error) or type(error).__name__
    *_, innermost = _causes(error)
    detail = str(innermost) if isinstance(innermost, OSError) else ""
    return f"{words} {detail}" if detail not in words else words


def _message_in(body: Any) -> str:
    """Every provider wraps its sentence in its own way."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and body:
        return _message_in(body[0])
    if not isinstance(body, dict):
        return ""
    for key in ("error", "message", "detail", "msg"):
        if found := _message_in(body.get(key)):
            return found
    return json.dumps(body, default=str, ensure_ascii=False) if body else ""


def _without_tags(text: str) -> str:
    """Gateways answer with web pages."""
    return re.sub(r"<(style|script).*?</\1>|<[^>]{0,300}>", " ", text, flags=re.DOTALL | re.IGNORECASE)
