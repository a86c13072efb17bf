"""The servers in colleague.json: adding and removing one without touching anything else in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colleague.config import edit
from colleague.config.json5_edit import Span, find_object, remove, written
from colleague.config.json5_tokens import comments
from colleague.errors import ColleagueError, NotFound

if TYPE_CHECKING:
    from colleague.config.file import Place
    from colleague.home import Home

_PATH = ("mcp", "servers")
_KEY = ".".join(_PATH)


def add_entry(home: Home, name: str, entry: Mapping[str, Any]) -> None:
    """Writes a new server into colleague.json, which is made when there is none."""
    with edit.editing(home):
        if place := defined_at(home, name):
            raise ColleagueError(
                f"the MCP server {name} is there already: {place}",
                hint=f"choose another name, or first: colleague mcp remove {name}",
            )
        text = edit.settings_text(home)
        changed = edit.with_member(text, _PATH, name, written(entry))
        wanted = edit.settings_value(home, text)
        wanted.setdefault("mcp", {}).setdefault("servers", {})[name] = entry
        edit.check_change(home, changed, wanted, comments(text), _KEY)
        edit.write_settings(home, text, changed)


def remove_entry(home: Home, name: str) -> Place | None:
    """Takes a server out of colleague.json; the place, if any, where it is still defined."""
    with edit.editing(home):
        text = edit.settings_text(home)
        changed, kept = _without(text, name)
        if changed == text:
            raise _not_ours(home, name)
        wanted = edit.settings_value(home, text)
        del wanted["mcp"]["servers"][name]
        edit.check_change(home, changed, wanted, kept, _KEY)
        edit.write_settings(home, text, changed)
        return defined_at(home, name)


def defined_at(home: Home, name: str) -> Place | None:
    """Where a server is defined: in colleague.json, a file it includes, or openclaw.json."""
    return edit.defined_at(home, (*_PATH, name))


def _without(text: str, name: str) -> tuple[str, list[str]]:
    """The text without the server, however often it is written, and the comments outside of it."""
    kept = comments(text)
    while span := _holding(text, name):
        member = span.all(name)[-1]
        for comment in comments(text[member.start : member.end]):
            kept.remove(comment)
        text = remove(text, member)
    return text, kept


def _holding(text: str, name: str) -> Span | None:
    span = find_object(text, _PATH)
    return span if span and span.all(name) else None


def _not_ours(home: Home, name: str) -> ColleagueError:
    if place := defined_at(home, name):
        return ColleagueError(
            f"the MCP server {name} is defined in {place}, not in colleague.json",
            hint=f'remove it there, or turn it off in colleague.json: "{name}": {{ enabled: false }}',
        )
    return NotFound(f"there is no MCP server {name}", hint="see colleague mcp list")
