"""A long result of a tool, cut so that it still tells something: JSON by lines, bytes by what they are."""

from __future__ import annotations

import base64
import binascii
import json
import re

HEAD = 0.7
TAIL = 0.2
MOST_PARSED = 5_000_000
"""Characters. Longer JSON is cut as it is."""
SHORTEST_BASE64 = 200
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_BASE64},}}={{0,2}}")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")
_SAMPLE = 4_096
_BINARY_SHARE = 0.1
_SIGNATURES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
)


def result_text(text: str, limit: int) -> str:
    """What a model is shown of a result: bytes are summed up; what is too long is cut in the middle."""
    text = without_bytes(text)
    if len(text) <= limit:
        return text
    return shortened(_pretty(text), limit)


def without_bytes(text: str) -> str:
    """Bytes as a sentence about them, alone or inside a text (base64 of a picture, say)."""
    sample = text[:_SAMPLE]
    if sample and len(_CONTROL.findall(sample)) > len(sample) * _BINARY_SHARE:
        return f"[binary data, {len(text):,} characters, left out]"
    if len(text) < SHORTEST_BASE64:
        return text
    return _BASE64.sub(_summed_up, text)


def _summed_up(match: re.Match[str]) -> str:
    """Only what is really base64 of bytes; a long word or number stays."""
    text = match[0]
    if not re.search(r"[A-Z]", text) or not re.search(r"[a-z]", text) or not re.search(r"[0-9]", text):
        return text
    try:
        data = base64.b64decode(text[: len(text) // 4 * 4], altchars=b"-_" if set("-_") & set(text) else None)
    except (binascii.Error, ValueError):
        return text
    known = next((name for start, name in _SIGNATURES if data.startswith(start)), "")
    if not known and data[:_SAMPLE].isascii():
        return text
    return f"[{known or 'binary data'} in base64, about {len(data):,} bytes, left out]"


def _pretty(text: str) -> str:
    """JSON with a line for each value, so that a cut leaves whole values; any other text as it is."""
    if len(text) > MOST_PARSED or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def shortened(text: str, limit: int, *, head: float = HEAD, tail: float = TAIL) -> str:
    """Head and tail, and between them how much is left out; cut at ends of lines where some are near."""
    if len(text) <= limit:
        return text
    first = _line_end(text[: int(limit * head)])
    end = text[len(text) - int(limit * tail) :] if int(limit * tail) else ""
    last = _line_start(end)
    left_out = len(text) - len(first) - len(last)
    return f"{first}\n[... {left_out:,} characters left out ...]\n{last}"


def _line_end(text: str) -> str:
    cut = text.rfind("\n")
    return text[:cut] if cut > len(text) * 0.8 else text


def _line_start(text: str) -> str:
    cut = text.find("\n")
    return text[cut + 1 :] if 0 <= cut < len(text) * 0.2 else text


def closed(text: str) -> str:
    """A text that begins a data element has its end, whatever was cut off."""
    begins = text.startswith("<data ") or "\n<data " in text
    return f"{text}\n</data>" if begins and not text.rstrip().endswith("</data>") else text
