"""Where the keys of providers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.resolved import Key
from colleague.config import Secret, Settings, resolve
from colleague.errors import ConfigError, NotFound
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.config.settings import AuthProfile


class NoKey(ConfigError):
    """A provider's key is not set. `source` is the place where it should be."""

    def __init__(self, message: str, *, hint: str, source: str) -> None:
        super().__init__(message, hint=hint)
        self.source = source


def profiles_of(settings: Settings, provider: str) -> list[str]:
    """The auth profiles of a provider, in the order they are tried."""
    auth = settings.auth
    known = [name for name, profile in auth.profiles.items() if profile.provider == provider]
    first = [name for name in auth.order.get(provider, ()) if name in known]
    return list(dict.fromkeys([*first, *known]))


def key_of(settings: Settings, environ: Mapping[str, str], provider: str, *, profile: str = "") -> Key | None:
    """The first key that the settings name and that is set; the environment's when they name none.

    `profile` names one of `auth.profiles`. Raises NoKey when keys are named and none is set.
    """
    missing: NoKey | None = None
    for secret, source in _profile(settings, profile) if profile else _named(settings, provider):
        try:
            return _checked(resolve(secret, environ, key=source), source)
        except ConfigError as error:
            missing = missing or NoKey(error.message, hint=error.hint, source=source)
    if missing is not None:
        raise missing
    found = BUILT_IN[provider].key(environ) if provider in BUILT_IN else None
    return _checked(found.text, found.source) if found else None


def _checked(text: str, source: str) -> Key:
    """Keys often come with the line break of the file they were in."""
    text = text.strip()
    if not text or not text.isascii() or not text.isprintable():
        raise NoKey(
            f"{source} holds no key: it is empty, or has characters that no key has",
            hint="copy the key again, on one line",
            source=source,
        )
    return Key(text, source)


def _named(settings: Settings, provider: str) -> Iterator[tuple[Secret, str]]:
    for name in profiles_of(settings, provider):
        yield from _held(settings.auth.profiles[name], name)
    configured = settings.models.providers.get(provider)
    if configured is not None and configured.api_key is not None:
        yield configured.api_key, f"models.providers.{provider}.apiKey"


def _profile(settings: Settings, name: str) -> Iterator[tuple[Secret, str]]:
    found = settings.auth.profiles.get(name)
    if found is None:
        hint = did_you_mean(name, settings.auth.profiles) or "add it to auth.profiles in colleague.json"
        raise NotFound(f"auth.profiles has no profile {name!r}", hint=hint)
    yield from _held(found, name)


def _held(profile: AuthProfile, name: str) -> Iterator[tuple[Secret, str]]:
    for secret, kind in ((profile.key, "key"), (profile.token, "token")):
        if secret is not None:
            yield secret, f"auth.profiles.{name}.{kind}"
