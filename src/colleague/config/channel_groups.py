"""The tools of a group: `channels.<channel>.groups.<id>.tools`, of all that `channels` holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from colleague.config.tool_lists import ToolLists

PLACES = ("groups", "channels")
"""Where channels keep their groups; Slack calls them channels."""
ANY = "*"


def group_tools(
    channels: Mapping[str, Mapping[str, Any]], channel: str, ids: Sequence[str]
) -> tuple[str, ToolLists] | None:
    """The key and what stands there: of the first of these ids that has something, else of `*`."""
    for place in PLACES:
        groups: Any = channels.get(channel, {}).get(place)
        for name in (*ids, ANY) if isinstance(groups, Mapping) else ():
            entry = groups.get(name)
            if isinstance(entry, Mapping) and entry.get("tools") is not None:
                return f"channels.{channel}.{place}.{name}.tools", ToolLists.model_validate(entry["tools"])
    return None


def check_group_tools(channels: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Raises ValueError where the tools of a group cannot be read: they would restrict nothing."""
    for channel, given in channels.items():
        for place in PLACES:
            groups = given.get(place)
            for name in groups if isinstance(groups, Mapping) else ():
                _check(channels, channel, place, name)
    return channels


def _check(channels: Mapping[str, Mapping[str, Any]], channel: str, place: str, group: str) -> None:
    try:
        group_tools(channels, channel, [group])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(each) for each in first["loc"])
        raise ValueError(f"{channel}.{place}.{group}.tools.{key}: {first['msg']}") from None
