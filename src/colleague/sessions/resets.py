"""When a session begins anew: after silence, at an hour of the day, or because a message says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from colleague.session_key import SessionKey
from colleague.time_zone import user_zone

if TYPE_CHECKING:
    from colleague.config.sessions import SessionReset, SessionSettings
    from colleague.config.settings import Settings

Why = Literal["schedule", "idle"]
IDLE_MINUTES = 60
"""Of a reset by silence that does not say after how long."""


def reset_rule(session: SessionSettings, key: SessionKey, channel: str) -> SessionReset:
    """The rule of the channel, else of the kind of chat, else of all sessions."""
    by_channel = session.reset_by_channel.get(channel)
    if by_channel is not None:
        return by_channel
    by_type = session.reset_by_type
    if key.thread_id is not None and by_type.thread is not None:
        return by_type.thread
    own = by_type.direct if key.chat_type in (None, "dm") else by_type.group
    return own if own is not None else session.reset


def reset_due(settings: Settings, key: SessionKey, channel: str, last_said_at: int, now: int) -> Why | None:
    """Why a session, in which something was said last then, begins anew now. Sub-agents never do."""
    if key.is_subagent:
        return None
    session = settings.session
    rule = reset_rule(session, key, channel)
    if rule.mode == "daily" and last_said_at < _last_hour(settings, rule.at_hour, now):
        return "schedule"
    minutes = _idle_minutes(session, rule)
    return "idle" if minutes is not None and now - last_said_at >= minutes * 60_000 else None


def _idle_minutes(session: SessionSettings, rule: SessionReset) -> int | None:
    """A daily reset may have idle minutes beside it: whatever comes first counts."""
    if rule.mode == "none":
        return session.idle_minutes if rule is session.reset else None
    minutes = rule.idle_minutes or session.idle_minutes
    return IDLE_MINUTES if minutes is None and rule.mode == "idle" else minutes


def _last_hour(settings: Settings, hour: int, now: int) -> int:
    """When this hour of the user's day came last, in milliseconds."""
    zone = user_zone(settings.agents.defaults.user_timezone)
    moment = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    today = moment.replace(hour=hour, minute=0, second=0, microsecond=0)
    last = today if today <= moment else today - timedelta(days=1)
    return int(last.timestamp() * 1000)


def after_trigger(settings: Settings, text: str) -> str | None:
    """What a message says after a word that begins the session anew; None when it has no such word."""
    word, _, rest = text.strip().partition(" ")
    line, _, below = word.partition("\n")
    said = f"{below} {rest}".strip() if below else rest.strip()
    triggers = {each.strip().casefold() for each in settings.session.reset_triggers}
    return said if line.strip().casefold() in triggers else None
