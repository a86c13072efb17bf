"""The auth profiles in colleague.json: adding one, and removing one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.config import edit
from colleague.config.json5_edit import find_object, remove
from colleague.config.json5_tokens import comments
from colleague.errors import ColleagueError, ConfigError, NotFound, UsageError

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home

MODES = ("api_key", "token", "oauth")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,119}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = ("auth", "profiles")


@dataclass(frozen=True)
class NewProfile:
    """What a person says of a profile. `key` is written as it is; else it is read from `variable`."""

    name: str
    provider: str
    mode: str = "api_key"
    variable: str = ""
    key: str = ""
    email: str = ""


def checked_profile(new: NewProfile, providers: list[str]) -> NewProfile:
    """Raises UsageError or NotFound for what is impossible."""
    if not _NAME.fullmatch(new.name):
        raise UsageError(f"{new.name!r} cannot be the name of a profile", hint=f"such as {new.provider}:work")
    if new.mode not in MODES:
        raise UsageError(f"there is no kind of profile {new.mode!r}", hint=f"it takes {', '.join(MODES)}")
    if new.provider not in providers:
        hint = f"there are: {', '.join(providers)}"
        raise NotFound(f"there is no model provider {new.provider!r}", hint=hint)
    if new.variable and not _VARIABLE.fullmatch(new.variable):
        raise UsageError("--env takes the name of a variable, not the key", hint="such as WORK_KEY")
    if bool(new.variable) == bool(new.key):
        raise UsageError("say where the key is", hint="--env VARIABLE, or --stdin < FILE")
    return new


def add_profile(home: Home, new: NewProfile) -> None:
    """Writes a checked profile into colleague.json, which only its owner can read."""
    path = (*_PATH, new.name)
    with edit.editing(home):
        if place := edit.defined_at(home, path):
            raise ColleagueError(
                f"the profile {new.name} is there already: {place}",
                hint=f"colleague model auth remove {new.name}, or choose another name",
            )
        text = edit.settings_text(home)
        wanted = edit.settings_value(home, text)
        wanted.setdefault("auth", {}).setdefault("profiles", {})[new.name] = _entry(new)
        changed = edit.with_value(text, path, _entry(new))
        edit.check_change(home, changed, wanted, comments(text), "auth.profiles")
        if new.key and home.settings_file.exists():
            home.settings_file.chmod(0o600)
        edit.write_settings(home, text, changed, lambda settings: _check(settings, new))


def remove_profile(home: Home, name: str) -> None:
    """Raises NotFound for a profile that is not in colleague.json itself."""
    with edit.editing(home):
        text = edit.settings_text(home)
        span = find_object(text, _PATH)
        members = span.all(name) if span is not None else []
        if span is None or not members:
            place = edit.defined_at(home, (*_PATH, name))
            what = f"it is defined elsewhere: {place}" if place else "it has none of that name"
            raise NotFound(
                f"colleague.json has no auth profile {name!r}", hint=f"{what}; colleague model auth list"
            )
        wanted = edit.settings_value(home, text)
        del wanted["auth"]["profiles"][name]
        changed = text
        for member in reversed(members):
            changed = remove(changed, member)
        kept = [each for each in comments(text) if each in comments(changed)]
        edit.check_change(home, changed, wanted, kept, "auth.profiles")
        edit.write_settings(home, text, changed)


def _entry(new: NewProfile) -> dict[str, Any]:
    field = "key" if new.mode == "api_key" else "token"
    entry: dict[str, Any] = {"provider": new.provider, "mode": new.mode}
    entry[field] = new.key.replace("${", "$${") or f"${{{new.variable}}}"
    return entry | ({"email": new.email} if new.email else {})


def _check(settings: Settings, new: NewProfile) -> None:
    """A file that is included may say otherwise."""
    if new.name not in settings.auth.profiles:
        hint = "look at its $include; nothing was written"
        raise ConfigError("a file that colleague.json includes says otherwise", hint=hint)
