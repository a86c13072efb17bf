"""Why a request from outside is refused. No sentence here ever holds a secret, a signature or a body."""

from __future__ import annotations

from typing import Literal

from colleague.errors import ColleagueError

SignatureProblem = Literal[
    "no-secret",
    "secret-unusable",
    "header-missing",
    "header-repeated",
    "header-malformed",
    "signature-wrong",
    "timestamp-missing",
    "too-old",
    "too-new",
]


class BadSignature(ColleagueError):
    """A request that is not from who it says, or not from now. `code` is to count by."""

    def __init__(self, code: SignatureProblem, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class KeysUnreachable(ColleagueError):
    """Whether a request is from who it says cannot be told now; its sender sends it again."""

    code = "keys-unreachable"


class BadPayload(ColleagueError):
    """A payload that has not the shape its source promises."""

    code = "bad-payload"
