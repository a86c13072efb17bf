"""The auth profiles as people see them: never the keys, but where they are and how they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypedDict

from colleague.agent.models.keyring import NoKey, Profile, all_profiles
from colleague.agent.models.resolve import ProfileChoice
from colleague.clock import iso
from colleague.main_names import MAIN_AGENT

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.store.auth_profiles import ProfileBook, ProfileStats


class RestDocument(TypedDict):
    """A cooldown; `model` is null when it holds for all of them."""

    model: str | None
    until: str | None
    reason: str | None


class ProfileDocument(TypedDict):
    """One profile. `place` counts within its provider, from 1, in the order they are tried."""

    profile: str
    provider: str
    place: int
    mode: str
    state: str
    """ready, cooldown or unusable."""
    problem: str | None
    source: str
    email: str | None
    display_name: str | None
    expires_at: str | None
    cooldowns: list[RestDocument]
    last_used: str | None
    last_good: str | None
    is_last_good: bool
    error_count: int
    failures: dict[str, int]


def profile_documents(
    settings: Settings, environ: Mapping[str, str], book: ProfileBook, *, agent: str = MAIN_AGENT
) -> list[ProfileDocument]:
    """By provider, in the order they are tried."""
    found = all_profiles(settings, environ, agent=agent)
    choice = ProfileChoice(agent, book=book)
    made: list[ProfileDocument] = []
    for provider in dict.fromkeys(each.provider for each in found):
        ordered = choice.ordered(settings, found, provider)
        good = max(ordered, key=lambda each: _newest(book, each.name, "last_good") or 0).name
        for place, profile in enumerate(ordered, 1):
            made.append(_document(profile, place, book, environ, is_last_good=profile.name == good))
    return made


def _document(
    profile: Profile, place: int, book: ProfileBook, environ: Mapping[str, str], *, is_last_good: bool
) -> ProfileDocument:
    rests = list(_rests(book, profile.name))
    problem = _problem(profile, environ)
    last_good = _newest(book, profile.name, "last_good")
    rows = _rows(book, profile.name)
    return {
        "profile": profile.name,
        "provider": profile.provider,
        "place": place,
        "mode": profile.mode,
        "state": "unusable" if problem else "cooldown" if rests else "ready",
        "problem": problem,
        "source": profile.source,
        "email": profile.email,
        "display_name": profile.display_name,
        "expires_at": iso(profile.expires_at),
        "cooldowns": rests,
        "last_used": iso(_newest(book, profile.name, "last_used")),
        "last_good": iso(last_good),
        "is_last_good": is_last_good and last_good is not None,
        "error_count": max((row.error_count for row in rows), default=0),
        "failures": _failures(rows),
    }


def _problem(profile: Profile, environ: Mapping[str, str]) -> str | None:
    try:
        profile.key(environ)
    except NoKey as error:
        return error.message
    return None


def _rests(book: ProfileBook, name: str) -> Iterator[RestDocument]:
    for row in _rows(book, name):
        if row.rests(book.now):
            yield {"model": row.model or None, "until": iso(row.cooldown_until), "reason": row.reason}


def _rows(book: ProfileBook, name: str) -> list[ProfileStats]:
    return [each for each in book.stats if each.profile == name]


def _newest(book: ProfileBook, name: str, column: str) -> int | None:
    return max((getattr(row, column) or 0 for row in _rows(book, name)), default=0) or None


def _failures(rows: list[ProfileStats]) -> dict[str, int]:
    total: dict[str, int] = {}
    for row in rows:
        for reason, count in row.failure_counts.items():
            total[reason] = total.get(reason, 0) + count
    return total
