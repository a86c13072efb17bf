"""Verifies the signed token that Google's Pub/Sub push subscriptions send as a bearer."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.triggers.errors import BadSignature, KeysUnreachable

if TYPE_CHECKING:
    from jwt import PyJWKClient

ISSUERS = ("https://accounts.google.com", "accounts.google.com")
LEEWAY_SECONDS = 60
KEYS_LAST_SECONDS = 3600
FETCH_SECONDS = 10
REFETCH_SECONDS = 30
UNREACHABLE_SECONDS = 3


@dataclass(frozen=True)
class Subscription:
    """What the token of a push must say: for whom it was made, and for which service account."""

    audience: str
    service_account: str


def looks_like_one(bearer: str) -> bool:
    return bearer.count(".") == 2


class GoogleTokens:
    """Checks tokens against the public keys at `keys_url`, which are kept for an hour.

    Anybody can send a token that names an unknown key, so keys are fetched at most every REFETCH_SECONDS for
    that, and not again for a moment when they could not be fetched."""

    def __init__(self) -> None:
        self._clients: dict[str, PyJWKClient] = {}
        self._unreachable_until: dict[str, float] = {}

    def check(self, token: str, subscription: Subscription, keys_url: str, now: int) -> None:
        """Raises BadSignature when it is not Google's word for us and for now; KeysUnreachable when nobody
        can tell. May fetch keys, so it belongs into a thread."""
        claims = self._claims(token, subscription.audience, keys_url)
        if claims.get("email") != subscription.service_account or claims.get("email_verified") is not True:
            raise BadSignature("signature-wrong", "the token is for another service account")
        _check_time(claims, now / 1000)

    def _claims(self, token: str, audience: str, keys_url: str) -> Mapping[str, Any]:
        import jwt

        # The times are checked against our own clock.
        options: Any = {"require": ["exp", "iat"], "verify_exp": False, "verify_iat": False}
        if time.monotonic() < self._unreachable_until.get(keys_url, 0.0):
            raise _keys_unreachable(keys_url)
        try:
            key = self._client(keys_url).get_signing_key_from_jwt(token)
            return jwt.decode(
                token, key, algorithms=["RS256"], audience=audience, issuer=ISSUERS, options=options
            )
        except (jwt.PyJWKClientConnectionError, jwt.PyJWKSetError, json.JSONDecodeError):
            self._unreachable_until[keys_url] = time.monotonic() + UNREACHABLE_SECONDS
            raise _keys_unreachable(keys_url) from None
        except jwt.PyJWTError as error:
            kind = type(error).__name__
            raise BadSignature("signature-wrong", f"the token is not Google's word for us ({kind})") from None

    def _client(self, keys_url: str) -> PyJWKClient:
        from jwt import PyJWKClient

        if keys_url not in self._clients:
            self._clients[keys_url] = PyJWKClient(
                keys_url,
                lifespan=KEYS_LAST_SECONDS,
                timeout=FETCH_SECONDS,
                cache_keys=False,
                cooldown_duration=REFETCH_SECONDS,
            )
        return self._clients[keys_url]


def _keys_unreachable(keys_url: str) -> KeysUnreachable:
    return KeysUnreachable(
        f"the keys to check a Pub/Sub token with could not be fetched from {keys_url}",
        hint="the push is sent again by Google; see that this machine reaches that address",
    )


def _check_time(claims: Mapping[str, Any], now: float) -> None:
    expires, issued = claims["exp"], claims["iat"]
    if not isinstance(expires, int | float) or not isinstance(issued, int | float):
        raise BadSignature("header-malformed", "the times of the token are no numbers")
    if expires < now - LEEWAY_SECONDS:
        raise BadSignature("too-old", "the token has expired")
    if issued > now + LEEWAY_SECONDS:
        raise BadSignature("too-new", "the token is from the future; is the clock of this machine right?")
