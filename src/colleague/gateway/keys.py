"""Who may call: the tokens as the settings and the environment have them now."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from colleague.config import Secret, Settings, resolve
from colleague.errors import ConfigError
from colleague.gateway.listening import Listening
from colleague.home import Home
from colleague.runtime.own_token import own_token


@dataclass(frozen=True)
class Keys:
    """`gateway` is empty when authentication is disabled, `hooks` when no secret is set for all hooks."""

    gateway: str = field(default="", repr=False)
    hooks: str = field(default="", repr=False)

    def opens(self, authorization: bytes) -> bool:
        """Whether the value of an Authorization header is the gateway's token. Takes always the same time."""
        word, _, token = authorization.partition(b" ")
        return word.lower() == b"bearer" and _same(token.strip(), self.gateway.encode())

    def is_hooks(self, secret: str) -> bool:
        return bool(self.hooks) and _same(secret.strip().encode(), self.hooks.encode())

    def is_gateways(self, secret: str) -> bool:
        return bool(self.gateway) and _same(secret.strip().encode(), self.gateway.encode())


def keys_of(home: Home, settings: Settings, environ: Mapping[str, str], listening: Listening) -> Keys:
    """Raises ConfigError when the gateway would be open to people it must not be open to.

    For this machine alone, a home without a token of its user's has one of its own."""
    auth = settings.gateway.auth
    hooks = _resolved(settings.hooks.token, environ, "hooks.token")
    if auth.mode == "none":
        if not listening.loopback:
            raise ConfigError(
                f"gateway.auth.mode is none, and {listening.address} can be reached from other machines",
                hint="set gateway.auth.mode to token and gateway.auth.token to ${GATEWAY_TOKEN}",
            )
        return Keys("", hooks)
    gateway = _resolved(auth.token, environ, "gateway.auth.token")
    if not gateway and auth.token is None and listening.loopback:
        gateway = own_token(home)
    if not gateway:
        hint = "set gateway.auth.token to ${GATEWAY_TOKEN}"
        raise ConfigError("the gateway has no token: gateway.auth.token is not set", hint=hint)
    if hooks and _same(hooks.encode(), gateway.encode()):
        raise ConfigError(
            "hooks.token and gateway.auth.token are the same",
            hint="whoever sends a hook could then do everything: give hooks a token of their own",
        )
    return Keys(gateway, hooks)


def _resolved(token: Secret | None, environ: Mapping[str, str], key: str) -> str:
    return "" if token is None else resolve(token, environ, key=key).strip()


def _same(one: bytes, other: bytes) -> bool:
    """Their hashes are of one length, so that the time tells nothing, not even the length."""
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(other).digest())
