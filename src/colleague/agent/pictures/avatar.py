"""The picture of an agent, as `identity.avatar` names it: a file of its workspace, or an emoji."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from colleague.agent.main_agent import main_tree
from colleague.agent.pictures.header import Header
from colleague.agent.pictures.picture import checked_picture
from colleague.agent.restrictions import Restrictions
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.main_names import MAIN_AGENT

MOST_BYTES = 1_000_000
MOST_EMOJI = 8
_LINKS = ("http://", "https://", "data:", "//")


@dataclass(frozen=True)
class Avatar:
    """What stands beside an agent's name: a picture, or a sign. `problem` says why there is no picture."""

    emoji: str = ""
    header: Header | None = None
    data: bytes = field(default=b"", repr=False)
    problem: str = ""


def avatar_of(home: Home, settings: Settings, agent_id: str, restrictions: Restrictions) -> Avatar:
    """Reads the file anew each time. A web address is never fetched: whoever it belongs to would see each
    visit of the page."""
    entry = settings.agents.of(agent_id)
    named = (entry.identity.avatar or "").strip() if entry else ""
    sign = (entry.identity.emoji or "") if entry else ""
    if not named:
        return Avatar(sign)
    if _is_emoji(named):
        return Avatar(named)
    if named.casefold().startswith(_LINKS):
        return Avatar(sign, problem=f"{_key(agent_id)} is a web address, which is not fetched: name a file")
    try:
        tree = main_tree(home, settings.for_agent(agent_id), restrictions)
        data = tree.read(named, most=MOST_BYTES).data
        return Avatar(sign, checked_picture(named, data).header, data)
    except ColleagueError as error:
        return Avatar(sign, problem=f"{_key(agent_id)}: {error.message.rstrip('.')}")
    except OSError as error:
        return Avatar(sign, problem=f"{_key(agent_id)}: {error.strerror or error}")


def avatar_problems(home: Home, settings: Settings, restrictions: Restrictions) -> Iterator[str]:
    for agent_id in agent_ids(settings):
        if problem := avatar_of(home, settings, agent_id, restrictions).problem:
            yield problem


def agent_ids(settings: Settings) -> list[str]:
    """The main agent first. An entry that is the main one under another id is not listed twice."""
    main = settings.agents.main
    others = [each.id for each in settings.agents.all if main is None or each.id != main.id]
    return list(dict.fromkeys([MAIN_AGENT, *others]))


def _is_emoji(text: str) -> bool:
    """A few signs that no file is called by."""
    symbols = [unicodedata.category(each) for each in text]
    return len(text) <= MOST_EMOJI and "So" in symbols and not any(each.isalnum() for each in text)


def _key(agent_id: str) -> str:
    return f"identity.avatar of the agent {agent_id}"
