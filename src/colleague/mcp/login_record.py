"""What a login at an MCP server gave, kept in a file that only its owner can read.

A record holds for one address: another address under the same name is not given its token."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from colleague.file_cache import FileCache
from colleague.files import locked, private_folder, write_atomic
from colleague.mcp.log import safe_name
from colleague.redaction import Redactor

EARLY_SECONDS = 30.0
"""So long before its end a token is replaced."""
_LOCK_SECONDS = 60.0
AS_PROGRAM = "client_credentials"


@dataclass(frozen=True)
class LoginRecord:
    """One login. The documents are those of the authorization server, as the library reads them."""

    address: str
    """The fingerprint of the server's URL."""
    tokens: dict[str, Any] = field(default_factory=dict, repr=False)
    expires_at: float | None = None
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    metadata: dict[str, Any] = field(default_factory=dict, repr=False)
    resource: dict[str, Any] = field(default_factory=dict, repr=False)
    problem: str = ""
    """Why a person has to log in, following the server's URL in a sentence."""
    wanted_scope: str = ""
    """Rights that the server asked for beyond those of the token."""

    @property
    def access(self) -> str:
        return str(self.tokens.get("access_token") or "")

    @property
    def can_refresh(self) -> bool:
        return bool(self.client and (self.tokens.get("refresh_token") or self.is_programs))

    @property
    def is_programs(self) -> bool:
        """Whether no person logged in, but this program as itself."""
        return self.client.get("grant_types") == [AS_PROGRAM]

    @property
    def is_over(self) -> bool:
        return self.expires_at is not None and self.expires_at - EARLY_SECONDS <= time.time()

    @property
    def secrets(self) -> Iterator[str]:
        yield from (str(self.tokens.get(key) or "") for key in ("access_token", "refresh_token"))
        yield str(self.client.get("client_secret") or "")


@dataclass(frozen=True)
class LoginStore:
    """The record of one server."""

    file: Path
    cache: FileCache[LoginRecord | None]

    @classmethod
    def of(cls, folder: Path, server: str) -> LoginStore:
        """`folder` is where all about MCP servers is kept."""
        return cls(folder / "logins" / f"{safe_name(server)}.json", FileCache(_read))

    def read(self, url: str) -> LoginRecord | None:
        """The record, if it is of this address."""
        found = self.any()
        return found if found and found.address == address_of(url) else None

    def any(self) -> LoginRecord | None:
        """The record, whatever its address."""
        with contextlib.suppress(OSError):
            return self.cache(self.file)
        return None

    def write(self, record: LoginRecord) -> None:
        private_folder(self.file.parent)
        write_atomic(self.file, json.dumps(asdict(record)), mode=0o600)

    def forget(self) -> bool:
        """Whether there was one."""
        with self.locked():
            there = self.file.exists()
            self.file.unlink(missing_ok=True)
        return there

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time: a refresh token may count only once."""
        private_folder(self.file.parent)
        with locked(self.file.with_suffix(".lock"), wait_seconds=_LOCK_SECONDS):
            yield


class LoginRedactor(Redactor):
    """Takes out what `known` takes out, and the tokens of the login as they are at that moment."""

    def __init__(self, known: Redactor, store: LoginStore) -> None:
        self.longest = known.longest
        self._known, self._store = known, store

    def __call__(self, text: str) -> str:
        record = self._store.any()
        return self._known(Redactor(record.secrets)(text) if record else text)


def address_of(url: str) -> str:
    """A fingerprint, because a URL may hold a secret."""
    return hashlib.sha256(url.encode()).hexdigest()


def _read(file: Path) -> LoginRecord | None:
    """None for a file that is no record: then the person logs in again."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        known = {each.name for each in fields(LoginRecord)}
        return LoginRecord(**{key: value for key, value in found.items() if key in known})
    except (ValueError, TypeError, AttributeError):
        return None
