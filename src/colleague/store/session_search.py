"""Full-text search over everything said in sessions, archives too.

SQLite has a table of its own for it (FTS5), which triggers keep in step; PostgreSQL an index on the items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from colleague.store.session_items import Role
from colleague.store.sql import text
from colleague.store.tx import Tx

MOST_WORDS = 20
LONGEST_WORD = 100
AROUND = 80
_WORD = re.compile(r"[^\W_]+")
_COLUMNS = (
    "i.session_key, s.label, i.position, i.transcript, s.id AS in_use, i.role, i.text AS said, i.created_at"
)
_SQLITE = f"""
    SELECT {_COLUMNS} FROM session_search
    JOIN search_rows r ON r.id = session_search.rowid
    JOIN session_items i ON i.session_key = r.session_key AND i.position = r.position
    JOIN sessions s ON s.key = i.session_key
    WHERE session_search MATCH :words AND s.hidden = 0 AND i.hidden = 0
    AND (:every = 1 OR i.session_key = :key)
    ORDER BY session_search.rowid DESC LIMIT :limit
"""  # noqa: S608 - columns of ours
_POSTGRESQL = f"""
    SELECT {_COLUMNS} FROM session_items i
    JOIN sessions s ON s.key = i.session_key
    WHERE colleague_words(i.text) @@ to_tsquery('simple', :words) AND s.hidden = 0 AND i.hidden = 0
    AND (:every = 1 OR i.session_key = :key)
    ORDER BY i.created_at DESC, i.session_key, i.position DESC LIMIT :limit
"""  # noqa: S608 - columns of ours


@dataclass(frozen=True)
class SearchHit:
    """One item in which every word was found. `archive` is None when it is in the transcript in use."""

    session_key: str
    label: str | None
    position: int
    archive: str | None
    role: Role
    excerpt: str
    created_at: int


def search_items(tx: Tx, query: str, *, session_key: str | None = None, limit: int = 20) -> list[SearchHit]:
    """Items with all of these words, each as the beginning of a word; the newest first.

    Marks mean nothing, so there is no wrong query; one without a word finds nothing."""
    words = [each[:LONGEST_WORD] for each in _WORD.findall(query)[:MOST_WORDS]]
    if not words:
        return []
    on_sqlite = not tx.postgresql
    given = {
        "words": _fts5(words) if on_sqlite else _tsquery(words),
        "every": int(session_key is None),
        "key": session_key or "",
        "limit": limit,
    }
    rows = tx.execute(text(_SQLITE if on_sqlite else _POSTGRESQL), given)
    return [
        SearchHit(
            row.session_key,
            row.label,
            int(row.position),
            row.transcript if row.transcript != row.in_use else None,
            row.role,
            excerpt(row.said, words),
            int(row.created_at),
        )
        for row in rows
    ]


def _fts5(words: Sequence[str]) -> str:
    return " ".join(f'"{each}"*' for each in words)


def _tsquery(words: Sequence[str]) -> str:
    return " & ".join(f"'{each}':*" for each in words)


def excerpt(said: str, words: Sequence[str]) -> str:
    """One line around the first of the words."""
    lowered = said.lower()
    places = [place for each in words if (place := lowered.find(each.lower())) >= 0]
    start = max(0, min(places, default=0) - AROUND)
    end = start + 2 * AROUND + len(words[0])
    line = " ".join(said[start:end].split())
    return f"{'...' if start else ''}{line}{'...' if end < len(said) else ''}"
