"""The code of an error: what a program goes by, whoever answers."""

from __future__ import annotations

from colleague.errors import ColleagueError, ConfigError, HomeBusy, NotFound, PackageError, UsageError
from colleague.store.accept import QueueFull
from colleague.store.approvals import AlreadyDecided, WrongArguments, WrongDecision, WrongDigest
from colleague.triggers.errors import BadPayload, BadSignature, KeysUnreachable
from colleague.triggers.registry import Inactive

_CODES: tuple[tuple[type[ColleagueError], str], ...] = (
    (NotFound, "not-found"),
    (UsageError, "bad-request"),
    (BadPayload, "bad-payload"),
    (BadSignature, "bad-signature"),
    (KeysUnreachable, "keys-unreachable"),
    (Inactive, "inactive"),
    (AlreadyDecided, "already-decided"),
    (WrongDigest, "wrong-digest"),
    (WrongDecision, "wrong-decision"),
    (WrongArguments, "wrong-arguments"),
    (QueueFull, "queue-full"),
    (PackageError, "package-invalid"),
    (ConfigError, "misconfigured"),
    (HomeBusy, "busy"),
    (ColleagueError, "conflict"),
)


def code_of(error: ColleagueError) -> str:
    return next(code for kind, code in _CODES if isinstance(error, kind))
