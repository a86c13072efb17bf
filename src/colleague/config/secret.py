"""Text in the settings that is never shown, and `${NAME}` references."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from colleague.errors import UNSET_CURE, ConfigError

_REFERENCE = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^${}]*))?\}")
_TELLING_KEY = re.compile(
    r"token|secret|passw|api.?key|private.?key|credential|authorization|service.?account|webhook.?url|cookie",
    re.IGNORECASE,
)
_HIDDEN = "**********"


class Secret:
    """Text that is never shown. `resolve` gives its value, `raw` is what the file says."""

    __slots__ = ("raw", "store")

    def __init__(self, raw: str, *, store: str = "") -> None:
        """`store` names the OpenClaw store that holds the secret `raw`; empty when `raw` is the text."""
        self.raw, self.store = raw, store

    def __str__(self) -> str:
        match = _REFERENCE.fullmatch(self.raw)
        return self.raw if match and not match[1] and match[3] is None else _HIDDEN

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self.raw, self.store) == (other.raw, other.store)

    def __hash__(self) -> int:
        return hash((self.raw, self.store))

    @classmethod
    def read(cls, value: Any) -> Secret:
        """From text, or OpenClaw's `{source, provider, id}`."""
        if isinstance(value, Secret):
            return value
        if isinstance(value, str):
            return cls(value)
        if not _is_stored(value):
            raise ValueError("it takes a text such as ${NAME}")
        source, name = str(value["source"]), str(value["id"])
        return cls(f"${{{name}}}") if source == "env" else cls(name, store=source)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_plain_validator_function(
            cls.read, serialization=core_schema.to_string_ser_schema()
        )


def _is_stored(value: Any) -> bool:
    return isinstance(value, Mapping) and {"source", "id"} <= value.keys()


def resolve(text: str | Secret, environ: Mapping[str, str], *, key: str = "") -> str:
    """`text` with `${NAME}` replaced; `${NAME:-x}` falls back to x, `$${NAME}` stays `${NAME}`.

    Raises ConfigError naming the variable and `key` when the variable is not set, or empty.
    """
    where = f"{key}: " if key else ""
    if isinstance(text, Secret) and text.store:
        raise ConfigError(
            f"{where}the secret is in OpenClaw's {text.store!r} store, which only OpenClaw can open",
            hint="name it again in colleague.json as ${NAME}, and set that variable",
        )

    def value(match: re.Match[str]) -> str:
        escaped, name, fallback = match.groups()
        if escaped:
            return match[0][1:]
        found = environ.get(name) or fallback
        if found is None:
            raise ConfigError(
                f"{where}the environment variable {name} is not set", hint=f"set {name}{UNSET_CURE}"
            )
        return found

    return _REFERENCE.sub(value, text.raw if isinstance(text, Secret) else text)


def is_telling(key: str) -> bool:
    """Whether a key sounds as if a secret were under it."""
    return _TELLING_KEY.search(key) is not None


def hide(value: Any, key: str = "", *, secret: bool = False) -> Any:
    """Free-form settings in which every text under a telling key is a Secret."""
    secret = secret or is_telling(key)
    if secret and (isinstance(value, str) or _is_stored(value)):
        return Secret.read(value)
    if isinstance(value, Mapping):
        return {name: hide(item, name, secret=secret) for name, item in value.items()}
    return [hide(item, secret=secret) for item in value] if isinstance(value, list) else value


def show(value: Any) -> Any:
    """The reverse of `hide`, as far as it may be shown."""
    if isinstance(value, Mapping):
        return {key: show(item) for key, item in value.items()}
    if isinstance(value, list):
        return [show(item) for item in value]
    return str(value) if isinstance(value, Secret) else value
