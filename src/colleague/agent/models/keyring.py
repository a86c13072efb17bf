"""Where the keys of providers are: auth profiles of the settings and of OpenClaw, and providers' own keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from colleague.agent.models.builtin import BUILT_IN
from colleague.agent.models.resolved import Key, TokenRefresh
from colleague.config import Secret, Settings, resolve
from colleague.config.auth_profiles_file import Mode, StoredCredential, stored_profiles
from colleague.errors import ConfigError, NotFound
from colleague.main_names import MAIN_AGENT
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.config.settings import AuthProfile, Provider

_BEARERS: frozenset[str] = frozenset(("token", "oauth"))


class NoKey(ConfigError):
    """A provider's key is not set. `source` is the place where it should be."""

    def __init__(self, message: str, *, hint: str, source: str) -> None:
        super().__init__(message, hint=hint)
        self.source = source


@dataclass(frozen=True)
class Profile:
    """One of a provider's keys, before it is looked up."""

    name: str
    provider: str
    mode: Mode
    source: str
    secret: Secret | None = field(default=None, repr=False)
    refresh: Secret | None = field(default=None, repr=False)
    client_id: str | None = None
    token_url: str | None = None
    expires_at: int | None = None
    email: str | None = None
    display_name: str | None = None
    own: bool = False
    """Whether it is what the provider itself is given: its `apiKey`, or a variable that we know."""

    def key(self, environ: Mapping[str, str]) -> Key:
        """Raises NoKey with the place where it should be."""
        if self.mode == "aws-sdk":
            raise NoKey(
                f"{self.source}: aws-sdk is not supported",
                hint="use an API key or a token",
                source=self.source,
            )
        if self.secret is None:
            raise NoKey(f"{self.source} holds no key", hint=_cure(self.name), source=self.source)
        try:
            text = resolve(self.secret, environ, key=self.source)
            refresh = self._refresh(environ)
        except ConfigError as error:
            raise NoKey(error.message, hint=error.hint, source=self.source) from None
        return replace(
            _checked(text, self.source),
            profile=self.name,
            bearer=self.mode in _BEARERS,
            expires_at=self.expires_at,
            refresh=refresh,
        )

    def _refresh(self, environ: Mapping[str, str]) -> TokenRefresh | None:
        """None when the profile does not say enough to get another token."""
        if self.mode != "oauth" or self.refresh is None or not self.token_url:
            return None
        return TokenRefresh(
            self.token_url, resolve(self.refresh, environ, key=self.source), self.client_id or ""
        )


def profiles_of(
    settings: Settings, environ: Mapping[str, str], provider: str, *, agent: str = MAIN_AGENT
) -> list[Profile]:
    """The auth profiles of a provider, as they are written down; its own key is the last."""
    return [each for each in all_profiles(settings, environ, agent=agent) if each.provider == provider]


def all_profiles(settings: Settings, environ: Mapping[str, str], *, agent: str = MAIN_AGENT) -> list[Profile]:
    """Of every provider: the settings' first, then OpenClaw's, then the providers' own keys."""
    stored = stored_profiles(settings.home_root, agent).profiles
    named = {
        name: _of_settings(name, each, stored.get(name)) for name, each in settings.auth.profiles.items()
    }
    for name, credential in stored.items():
        named.setdefault(name, _of_store(credential))
    found = list(named.values())
    return [*found, *_own_keys(settings, environ, {each.name for each in found})]


def stored_order(settings: Settings, agent: str, provider: str) -> tuple[str, ...]:
    """The order of profiles that OpenClaw keeps for the agent; empty when it keeps none."""
    return stored_profiles(settings.home_root, agent).order.get(provider, ())


def named_profile(found: list[Profile], name: str) -> Profile:
    """Raises NotFound with the nearest name there is."""
    for each in found:
        if each.name == name:
            return each
    hint = did_you_mean(name, [each.name for each in found]) or "see them with: colleague model auth list"
    raise NotFound(f"there is no auth profile {name!r}", hint=hint)


def own_profile(provider: str) -> str:
    """What a provider's own key is called among its profiles."""
    return f"{provider}:default"


def _of_settings(name: str, profile: AuthProfile, stored: StoredCredential | None) -> Profile:
    """OpenClaw's settings only say that a profile exists; what it holds is in the file beside the agent."""
    secret, kind = (profile.token, "token") if profile.token is not None else (profile.key, "key")
    if secret is None and stored is not None:
        return replace(
            _of_store(stored), email=profile.email or stored.email, display_name=profile.display_name
        )
    mode: Mode = profile.mode
    if "mode" not in profile.model_fields_set and kind == "token" and secret is not None:
        mode = "token"
    return Profile(
        name,
        profile.provider,
        mode,
        f"auth.profiles.{name}.{kind}",
        secret,
        profile.refresh,
        profile.client_id,
        profile.token_url,
        None,
        profile.email,
        profile.display_name,
    )


def _of_store(stored: StoredCredential) -> Profile:
    return Profile(
        stored.name,
        stored.provider,
        stored.mode,
        stored.source,
        stored.secret,
        stored.refresh,
        stored.client_id,
        stored.token_url,
        stored.expires_at,
        stored.email,
    )


def _own_keys(settings: Settings, environ: Mapping[str, str], taken: set[str]) -> Iterator[Profile]:
    configured = settings.models.providers
    for provider, entry in configured.items():
        if entry.api_key is not None:
            yield _own(provider, entry, taken)
    for provider, built_in in BUILT_IN.items():
        found = built_in.key(environ)
        said = provider in configured and configured[provider].api_key is not None
        if found is not None and not said:
            name = own_profile(provider) if own_profile(provider) not in taken else f"{provider}:environment"
            yield Profile(name, provider, "api_key", found.source, _literal(found.text), own=True)


def _own(provider: str, entry: Provider, taken: set[str]) -> Profile:
    name = own_profile(provider)
    if name in taken:
        name = f"{provider}:apiKey"
    mode: Mode = "api_key" if entry.auth is None or entry.auth == "api-key" else entry.auth
    return Profile(name, provider, mode, f"models.providers.{provider}.apiKey", entry.api_key, own=True)


def _literal(text: str) -> Secret:
    """A text in which nothing is a reference."""
    return Secret(text.replace("${", "$${"))


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


def _cure(name: str) -> str:
    return f"give it one: colleague model auth add {name} --provider PROVIDER --env VARIABLE"
