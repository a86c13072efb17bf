"""What a prompt says of things around the agent that settings and channels decide: documentation, the people
it works for, speech."""

from __future__ import annotations

from collections.abc import Iterator

from colleague.config import Settings
from colleague.config.channel_access import allowed_senders
from colleague.docs_location import docs_folder

MOST_OWNERS = 20
TTS = "tts"


def docs_text(settings: Settings, *, reachable: bool) -> str:
    """Where Colleague's own documentation is. `reachable`: whether the agent can read files there."""
    local = f"{docs_folder()} (README.md first); " if reachable else ""
    return f"Of Colleague: {local}for people http://127.0.0.1:{settings.gateway.port}/docs."


def owners(settings: Settings) -> list[str]:
    """The people whose messages channels let in by name, each with the ids that are theirs."""
    links = settings.session.identity_links
    known = {name: [each.strip() for each in ids] for name, ids in links.items() if ids}
    linked = {each.casefold() for ids in known.values() for each in ids}
    listed = [f"{name} ({', '.join(ids)})" for name, ids in known.items()]
    others = [each for each in _allowed(settings) if not {each.casefold(), _bare(each)} & linked]
    return [*listed, *others][:MOST_OWNERS]


def _allowed(settings: Settings) -> Iterator[str]:
    for channel in settings.channels:
        yield from (f"{channel}:{sender}" for sender in allowed_senders(settings.channels, channel))


def _bare(name: str) -> str:
    return name.partition(":")[2].casefold()


def voice_text(settings: Settings) -> str:
    """How to speak, for an agent that can."""
    speech = settings.messages.tts
    voice = f" Voice: {speech.voice}." if speech.voice else ""
    return f"Speak only when asked to, at most {speech.max_text_length:,} characters.{voice}"
