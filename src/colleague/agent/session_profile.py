"""The auth profile that a session stays with, so that what a provider has cached of it is used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.store.session_entry import change_session

if TYPE_CHECKING:
    from colleague.agent.models.resolve import Routes
    from colleague.store.auth_profiles import ProfileBook
    from colleague.store.session_entry import SessionEntry
    from colleague.store.tx import Database

AUTO = "auto"


def wanted_profile(entry: SessionEntry, known: set[str]) -> str:
    """What a person chose, also when it is gone, which is said then; else what was chosen for the session."""
    chosen = entry.auth_profile_override or ""
    return chosen if entry.auth_profile_override_source != AUTO or chosen in known else ""


async def stay_with(database: Database, entry: SessionEntry, routes: Routes, book: ProfileBook) -> None:
    """Writes down the first profile that is free, where several take turns. One that rests is left."""
    first = routes.first
    taking_turns = [model for model in routes.models if model.name == first.name and model.profile]
    if len(taking_turns) < 2 or entry.auth_profile_override_source not in (None, AUTO):
        return
    free = [model for model in taking_turns if book.resting(model.profile, model.name) is None]
    chosen = (free or taking_turns)[0].profile
    if chosen != entry.auth_profile_override:
        values = {"auth_profile_override": chosen, "auth_profile_override_source": AUTO}
        await database.write(lambda tx: change_session(tx, entry.key, **values))
