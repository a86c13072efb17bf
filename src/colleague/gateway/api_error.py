"""Error responses, all in one shape: {"error": {"code", "message"}}, with a hint where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.errors import ColleagueError, CommitUnknown, DatabaseUnavailable
from colleague.triggers.errors import BadSignature

QUEUE_PAUSE = 30
DATABASE_PAUSE = 5

_STATUS = {
    "not-found": 404,
    "bad-request": 400,
    "bad-payload": 400,
    "keys-unreachable": 503,
    "wrong-decision": 400,
    "wrong-arguments": 422,
    "queue-full": 429,
    "misconfigured": 503,
    "busy": 503,
}
"""Everything else is a conflict."""
CONFLICT = 409


@dataclass
class ApiError(Exception):
    """An HTTP error response. `more` stands beside code and message."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    @property
    def document(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, **self.more}}

    @property
    def body(self) -> bytes:
        return json.dumps(self.document, ensure_ascii=False).encode("utf-8", "replace")


OPENAI = "/v1/"
"""Callers of these paths expect errors as OpenAI's API has them."""
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def for_path(refusal: ApiError, path: str) -> ApiError:
    """The same no, with what callers of this path look for beside code and message."""
    if not path.startswith(OPENAI):
        return refusal
    server = "server_error" if refusal.status >= 500 else "invalid_request_error"
    more = {"type": _TYPES.get(refusal.status, server), "param": None}
    return replace(refusal, more={**more, **refusal.more})


def status_of(code: str) -> int:
    return _STATUS.get(code, CONFLICT)


def refusal_of(error: ColleagueError) -> ApiError:
    """What an error of ours is to somebody outside."""
    status = 401 if isinstance(error, BadSignature) else status_of(error.code)
    headers = {"Retry-After": str(QUEUE_PAUSE)} if status == 429 else {}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return ApiError(status, error.code, error.message, headers, {"hint": error.hint} if error.hint else {})


def unavailable(error: DatabaseUnavailable) -> ApiError:
    """Which database it is, and where, stays in here."""
    happened = (
        "whether this was accepted is not known" if isinstance(error, CommitUnknown) else "nothing changed"
    )
    message = f"the database cannot be used at the moment; {happened}: try again"
    return ApiError(503, "database-unavailable", message, {"Retry-After": str(DATABASE_PAUSE)})
