"""The body of a webhook as a payload that can be stored."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from colleague.triggers.errors import BadPayload

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_JSON = (
    "text/",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/",
    "application/octet-",
)


def read_payload(body: bytes, content_type: str) -> Any:
    """JSON as it is; a body of another kind as {"body": text}. Raises BadPayload on broken JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith(_NOT_JSON) and not kind.endswith("json"):
        try:
            return parse_json(body)
        except BadPayload:
            return {"body": body.decode("utf-8", "replace")}
    return parse_json(body)


def parse_json(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        raise BadPayload("the body is no JSON", hint="send UTF-8, and application/json as its type") from None
    if _SURROGATE.search(text) is None:
        return value
    # Halves of surrogate pairs are legal in JSON and in no database.
    return json.loads(_SURROGATE.sub("\ufffd", text))


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
