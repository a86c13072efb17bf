"""No, in one shape everywhere: {"error": {"code", "message"}}, with a hint where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from colleague.errors import (
    ColleagueError,
    CommitUnknown,
    ConfigError,
    DatabaseUnavailable,
    HomeBusy,
    NotFound,
    PackageError,
    UsageError,
)
from colleague.store.accept import QueueFull
from colleague.store.approvals import AlreadyDecided, WrongArguments, WrongDecision, WrongDigest
from colleague.triggers.errors import BadPayload, BadSignature, KeysUnreachable
from colleague.triggers.registry import Inactive

QUEUE_PAUSE = 30
DATABASE_PAUSE = 5

_KINDS: tuple[tuple[type[ColleagueError], int, str], ...] = (
    (NotFound, 404, "not-found"),
    (UsageError, 400, "bad-request"),
    (BadPayload, 400, "bad-payload"),
    (BadSignature, 401, "bad-signature"),
    (KeysUnreachable, 503, "keys-unreachable"),
    (Inactive, 409, "inactive"),
    (AlreadyDecided, 409, "already-decided"),
    (WrongDigest, 409, "wrong-digest"),
    (WrongDecision, 400, "wrong-decision"),
    (WrongArguments, 422, "wrong-arguments"),
    (QueueFull, 429, "queue-full"),
    (PackageError, 409, "package-invalid"),
    (ConfigError, 503, "misconfigured"),
    (HomeBusy, 503, "busy"),
    (ColleagueError, 409, "conflict"),
)


@dataclass
class ApiError(Exception):
    """An answer that is no. `more` stands beside code and message."""

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


def refusal_of(error: ColleagueError) -> ApiError:
    """What an error of ours is to somebody outside."""
    status, code = next((status, code) for kind, status, code in _KINDS if isinstance(error, kind))
    if isinstance(error, BadSignature):
        code = error.code
    headers = {"Retry-After": str(QUEUE_PAUSE)} if status == 429 else {}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return ApiError(status, code, error.message, headers, {"hint": error.hint} if error.hint else {})


def unavailable(error: DatabaseUnavailable) -> ApiError:
    """Which database it is, and where, stays in here."""
    happened = (
        "whether this was accepted is not known" if isinstance(error, CommitUnknown) else "nothing changed"
    )
    message = f"the database cannot be used at the moment; {happened}: try again"
    return ApiError(503, "database-unavailable", message, {"Retry-After": str(DATABASE_PAUSE)})
