"""Changing colleague.json as text, so that comments and format stay, and nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from colleague.config.json5_edit import find_object, insert, set_value, written, written_key
from colleague.config.json5_tokens import comments
from colleague.errors import ConfigError
from colleague.files import locked, write_atomic

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from colleague.config.file import Place
    from colleague.config.settings import Settings
    from colleague.home import Home


def editing(home: Home) -> AbstractContextManager[None]:
    """Only one process at a time changes the settings."""
    return locked(home.state / "settings.lock")


def settings_text(home: Home) -> str:
    """What stands in colleague.json; the default text when there is none."""
    from colleague.config import default_settings_text
    from colleague.config.file import read_document

    try:
        return read_document(home.settings_file).text
    except FileNotFoundError:
        return default_settings_text()


def settings_value(home: Home, text: str) -> Any:
    """A copy of what the text means."""
    from colleague.config.file import parse

    return copy.deepcopy(parse(text, home.settings_file))


def defined_at(home: Home, path: Sequence[str]) -> Place | None:
    """Where a key is defined: in colleague.json, a file it includes, or openclaw.json."""
    from colleague.config.file import read_settings_file

    for file in (home.settings_file, home.openclaw_file):
        found = read_settings_file(file, home.root)
        node = found.tree if found else None
        for key in path:
            node = node.value.get(key) if node and isinstance(node.value, dict) else None
        if node:
            return node.place
    return None


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """The text with a value at the path; one that is there already is replaced."""
    *above, key = path
    span = find_object(text, above)
    if span is not None and span.all(key):
        return set_value(text, span.all(key)[-1], written(value))
    return with_member(text, above, key, written(value))


def with_member(text: str, above: Sequence[str], key: str, value: str) -> str:
    """The text with a member added to the object at `above`, which is made when it is not there."""
    for depth in range(len(above), -1, -1):
        if span := find_object(text, above[:depth]):
            return insert(text, span, key, value)
        if depth:
            value = f"{{ {written_key(key)}: {value} }}"
            key = above[depth - 1]
    raise ConfigError("colleague.json holds no object", hint="put the settings between { and }")


def check_change(home: Home, changed: str, wanted: object, kept: Sequence[str], key: str) -> None:
    """The new text means what was intended, and every comment of `kept` is still there."""
    if settings_value(home, changed) != wanted or sorted(comments(changed)) != sorted(kept):
        raise ConfigError(
            f"{home.settings_file} is written in a way that cannot be changed safely",
            hint=f"change {key} in it by hand; nothing was written",
        )


def write_settings(
    home: Home, text: str, changed: str, check: Callable[[Settings], None] = lambda _: None
) -> None:
    """Writes it, and takes it back when the settings do not load any more or `check` raises ConfigError."""
    from colleague.config import load_settings

    existed = home.settings_file.exists()
    write_atomic(home.settings_file, changed, mode=0o600)
    try:
        check(load_settings(home))
    except ConfigError:
        if existed:
            write_atomic(home.settings_file, text)
        else:
            home.settings_file.unlink()
        raise
