"""Connections to PostgreSQL, which are kept and used again; one that was cut is replaced."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import psycopg.conninfo

from colleague.errors import ConfigError

REST_SECONDS = 5.0
_PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
LIFE = "concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"
"""Other after a restart, and after a crash from which the server recovered by itself."""


class PostgresConnection:
    """A connection, with the life of the server in which it was made."""

    def __init__(self, url: str) -> None:
        settings: dict[str, Any] = {**connection_settings(url)}
        self.raw = psycopg.connect(url, autocommit=True, **settings)  # our own BEGIN and COMMIT
        try:
            [life] = self.raw.execute(f"SELECT {LIFE}").fetchone() or [""]
        except psycopg.Error:
            self.raw.close()
            raise
        self.life = str(life)
        self._used_at = time.monotonic()

    def rest(self) -> None:
        self._used_at = time.monotonic()

    def answers(self) -> bool:
        """Whether it can be used. One that was not used for a while, or where the server said something
        unasked, is asked before: asking each time would cost as much as most statements do."""
        if self.raw.closed:
            return False
        if time.monotonic() - self._used_at < REST_SECONDS and not self._was_told():
            return True
        try:
            self.raw.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def clean(self) -> None:
        """After an error: without a transaction, or closed."""
        try:
            self.raw.rollback()
        except psycopg.Error:
            self.raw.close()

    def _was_told(self) -> bool:
        look = select.poll()  # select.select refuses descriptors from 1024 on
        look.register(self.raw.fileno(), select.POLLIN)
        return bool(look.poll(0))


class PostgresConnections:
    """The connections of a process. The one that was used last is used next, so that there are few."""

    def __init__(self, url: str) -> None:
        _require_url(url)
        self._url = url
        self._idle: list[PostgresConnection] = []

    @contextmanager
    def use(self) -> Iterator[PostgresConnection]:
        """One that nobody else uses meanwhile. Raises psycopg.Error when there is none to be had."""
        connection = self._answering() or PostgresConnection(self._url)
        try:
            yield connection
        except BaseException:
            connection.clean()
            raise
        finally:
            if not connection.raw.closed:
                connection.rest()
                self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().raw.close()

    def _answering(self) -> PostgresConnection | None:
        with suppress(IndexError):  # other threads take some, too
            while found := self._idle.pop():
                if found.answers():
                    return found
                found.raw.close()
        return None


def _require_url(url: str) -> None:
    """Raises ConfigError, without the library's words: they may quote a part of the password."""
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        hint = (
            "write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE; a special character in the "
            "password is written as its code, such as %40 for @"
        )
        raise ConfigError("experts.database is no URL that PostgreSQL can read", hint=hint) from None


def connection_settings(url: str) -> dict[str, int]:
    """A host that does not answer is noticed in seconds, not hours; what the URL says itself counts."""
    given = parse_qs(urlsplit(url).query)
    return {name: value for name, value in _PATIENCE.items() if name not in given}
