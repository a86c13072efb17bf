"""The servers in colleague.json: adding and removing one without touching anything else in the file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colleague.config.json5_tokens import comments
from colleague.errors import ColleagueError, ConfigError, NotFound
from colleague.files import locked, write_atomic
from colleague.mcp.json5_edit import Span, find_object, insert, remove, written, written_key

if TYPE_CHECKING:
    from colleague.config.file import Place
    from colleague.home import Home

_PATH = ("mcp", "servers")


def add_entry(home: Home, name: str, entry: Mapping[str, Any]) -> None:
    """Writes a new server into colleague.json, which is made when there is none."""
    with locked(home.state / "settings.lock"):
        if place := defined_at(home, name):
            raise ColleagueError(
                f"the MCP server {name} is there already: {place}",
                hint=f"choose another name, or first: colleague mcp remove {name}",
            )
        text = _text(home)
        changed = _with(text, name, written(entry))
        wanted = copy.deepcopy(_value(home, text))
        wanted.setdefault("mcp", {}).setdefault("servers", {})[name] = entry
        _check(home, changed, wanted, comments(text))
        _write(home, text, changed)


def remove_entry(home: Home, name: str) -> Place | None:
    """Takes a server out of colleague.json; the place, if any, where it is still defined."""
    with locked(home.state / "settings.lock"):
        text = _text(home)
        changed, kept = _without(text, name)
        if changed == text:
            raise _not_ours(home, name)
        wanted = copy.deepcopy(_value(home, text))
        del wanted["mcp"]["servers"][name]
        _check(home, changed, wanted, kept)
        _write(home, text, changed)
        return defined_at(home, name)


def defined_at(home: Home, name: str) -> Place | None:
    """Where a server is defined: in colleague.json, a file it includes, or openclaw.json."""
    from colleague.config.file import read_settings_file

    for file in (home.settings_file, home.openclaw_file):
        found = read_settings_file(file, home.root)
        node = found.tree if found else None
        for key in (*_PATH, name):
            node = node.value.get(key) if node and isinstance(node.value, dict) else None
        if node:
            return node.place
    return None


def _text(home: Home) -> str:
    from colleague.config import default_settings_text
    from colleague.config.file import read_document

    try:
        return read_document(home.settings_file).text
    except FileNotFoundError:
        return default_settings_text()


def _value(home: Home, text: str) -> Any:
    from colleague.config.file import parse

    return parse(text, home.settings_file)


def _with(text: str, name: str, value: str) -> str:
    key = name
    for path in (_PATH, _PATH[:1], ()):
        if span := find_object(text, path):
            return insert(text, span, key, value)
        if path:
            value = f"{{ {written_key(key)}: {value} }}"
            key = path[-1]
    raise ConfigError("colleague.json holds no object", hint="put the settings between { and }")


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


def _check(home: Home, changed: str, wanted: object, kept: list[str]) -> None:
    """The new text means what was intended, and every comment is still there."""
    if _value(home, changed) != wanted or sorted(comments(changed)) != sorted(kept):
        raise ConfigError(
            f"{home.settings_file} is written in a way that cannot be changed safely",
            hint="change mcp.servers in it by hand; nothing was written",
        )


def _write(home: Home, text: str, changed: str) -> None:
    """Writes it, and takes it back when the settings do not load any more."""
    from colleague.config import load_settings

    existed = home.settings_file.exists()
    write_atomic(home.settings_file, changed, mode=0o600)
    try:
        load_settings(home)
    except ConfigError:
        if existed:
            write_atomic(home.settings_file, text)
        else:
            home.settings_file.unlink()
        raise


def _not_ours(home: Home, name: str) -> ColleagueError:
    if place := defined_at(home, name):
        return ColleagueError(
            f"the MCP server {name} is defined in {place}, not in colleague.json",
            hint=f'remove it there, or turn it off in colleague.json: "{name}": {{ enabled: false }}',
        )
    return NotFound(f"there is no MCP server {name}", hint="see colleague mcp list")
