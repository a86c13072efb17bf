"""The auth profiles that OpenClaw keeps beside an agent. They are read, never written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from colleague.config.file import Place, SettingsDocument, SettingsWarning, read_document
from colleague.config.secret import Secret
from colleague.errors import ConfigError
from colleague.file_cache import FileCache
from colleague.main_names import MAIN_AGENT

Mode = Literal["api_key", "token", "oauth", "aws-sdk"]
_SECRETS: Mapping[str, str] = {"api_key": "key", "token": "token", "oauth": "access"}
_SECONDS_BELOW = 10**11
"""A time as large as this cannot be meant in seconds."""


@dataclass(frozen=True)
class StoredCredential:
    """One profile of the file. What is secret is never shown."""

    name: str
    provider: str
    mode: Mode
    secret: Secret | None
    source: str
    email: str | None = None
    expires_at: int | None = None
    """Milliseconds."""
    refresh: Secret | None = None
    client_id: str | None = None
    token_url: str | None = None


@dataclass(frozen=True)
class StoredProfiles:
    """The profiles of an agent, the orders set for it, and what is wrong with the files."""

    profiles: Mapping[str, StoredCredential] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[SettingsWarning, ...] = ()


def stored_profiles(home: Path, agent_id: str = MAIN_AGENT) -> StoredProfiles:
    """An agent's own profiles, then those of the main agent that it does not have."""
    agents = [agent_id] if agent_id == MAIN_AGENT else [agent_id, MAIN_AGENT]
    found = [_stored(profiles_file(home, each)) for each in agents]
    return StoredProfiles(
        {name: each for one in reversed(found) for name, each in one.profiles.items()},
        {provider: names for one in reversed(found) for provider, names in one.order.items()},
        tuple(warning for one in found for warning in one.warnings),
    )


def profiles_file(home: Path, agent_id: str = MAIN_AGENT) -> Path:
    return home / "agents" / agent_id / "agent" / "auth-profiles.json"


def _read(file: Path) -> StoredProfiles:
    try:
        return _Reader(read_document(file)).read()
    except FileNotFoundError:
        return StoredProfiles()
    except ConfigError as error:
        place = error.message.removeprefix(f"{file}:").split(":", 2)
        line, column = (int(place[0]), int(place[1])) if place[0].isdigit() else (1, 1)
        what = place[2].strip() if place[0].isdigit() else error.message
        hint = f"{error.hint}; until then its profiles are not used"
        return StoredProfiles(warnings=(SettingsWarning(file, line, column, what, hint),))


_stored = FileCache(_read)


class _Reader:
    """Takes what has the right shape, and warns of the rest."""

    def __init__(self, document: SettingsDocument) -> None:
        self._document = document
        self._warnings: list[SettingsWarning] = []

    def read(self) -> StoredProfiles:
        value = self._document.value
        if not isinstance(value, dict):
            self._warn((), "the file holds no object", "OpenClaw writes { version, profiles } into it")
            return StoredProfiles(warnings=tuple(self._warnings))
        found = {}
        for name, entry in self._members(value, "profiles").items():
            if (credential := self._credential(name, entry)) is not None:
                found[name] = credential
        order = {
            provider: tuple(each for each in names if isinstance(each, str))
            for provider, names in self._members(value, "order").items()
            if isinstance(names, list)
        }
        return StoredProfiles(found, order, tuple(self._warnings))

    def _members(self, value: dict[str, Any], key: str) -> dict[str, Any]:
        inside = value.get(key)
        if isinstance(inside, dict):
            return inside
        if inside is not None:
            self._warn((key,), f"{key} holds no object", "its profiles are not used")
        return {}

    def _credential(self, name: str, entry: Any) -> StoredCredential | None:
        at = ("profiles", name)
        if not isinstance(entry, dict) or not isinstance(entry.get("provider"), str):
            self._warn(at, f"the profile {name!r} names no provider", "it is not used")
            return None
        mode = str(entry.get("type", entry.get("mode", "api_key"))).replace("-", "_")
        mode = "aws-sdk" if mode == "aws_sdk" else mode
        if mode not in get_args(Mode):
            self._warn(at, f"the profile {name!r} is of an unknown type", "it is not used")
            return None
        secret = _SECRETS.get(mode, "key")
        return StoredCredential(
            name,
            entry["provider"],
            cast(Mode, mode),
            _secret(entry, secret),
            f"{self._document.file} (profiles.{name}.{secret})",
            _text(entry, "email"),
            _moment(entry.get("expires")),
            _secret(entry, "refresh"),
            _text(entry, "clientId", "client_id"),
            _text(entry, "tokenUrl", "token_url", "tokenEndpoint"),
        )

    def _warn(self, path: Sequence[str], message: str, hint: str) -> None:
        place: Place = self._document.place(tuple(path))
        self._warnings.append(SettingsWarning.at(place, message, hint))


def _secret(entry: Mapping[str, Any], key: str) -> Secret | None:
    """As text, which is taken literally, or as a reference to a store of secrets."""
    for value in (entry.get(key), entry.get(f"{key}Ref")):
        if isinstance(value, str) and value:
            return Secret(value)
        if isinstance(value, Mapping):
            try:
                return Secret.read(value)
            except ValueError:
                return None
    return None


def _text(entry: Mapping[str, Any], *keys: str) -> str | None:
    return next((entry[key] for key in keys if isinstance(entry.get(key), str) and entry[key]), None)


def _moment(value: Any) -> int | None:
    """Milliseconds, also where the file has seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    return int(value * 1000) if value < _SECONDS_BELOW else int(value)
