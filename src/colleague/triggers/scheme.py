"""The ways of signing a webhook: what each sends, and what it signs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from colleague.experts.bindings import HeaderNames, Signature
from colleague.triggers.errors import BadSignature
from colleague.triggers.headers import AROUND, Headers

_TIMESTAMP = re.compile(r"[0-9]{1,13}")
_LOOKS_STAMPED = re.compile(rb"[0-9]{1,13}\.")
_FIRST_IN_MILLISECONDS = 10**11  # in seconds that is the year 5138
_BASE64_PREFIX = "whsec_"
_HEX = re.compile(r"[0-9a-fA-F]{64}")
OPENCLAW_TOKEN = "x-openclaw-token"  # noqa: S105 - the name of a header
_DELIVERY = ("X-Delivery-Id", "Idempotency-Key")


@dataclass(frozen=True)
class Claim:
    """What a request says of itself, before any secret is looked at.

    Each of `sent` is a MAC of `signed`, or the secret itself when nothing is signed."""

    sent: tuple[bytes, ...]
    signed: bytes | None
    delivery_id: str | None
    timestamp_ms: int | None = None
    id_is_signed: bool = False

    def fits(self, key: bytes) -> bool:
        expected = key if self.signed is None else mac(key, self.signed)
        return any(hmac.compare_digest(expected, each) for each in self.sent)


@dataclass(frozen=True)
class SigningInput:
    """What a sender has to sign. `stamp` is the time in seconds, empty for none."""

    body: bytes
    stamp: str
    delivery_id: str
    names: HeaderNames


class Scheme(Protocol):
    """`keys` are all that a secret may stand for, none when it is of no use. `claim` raises BadSignature."""

    def keys(self, secret: str) -> Sequence[bytes]: ...
    def claim(self, headers: Headers, names: HeaderNames, body: bytes) -> Claim: ...
    def sign(self, key: bytes, letter: SigningInput) -> dict[str, str]: ...


class StandardWebhooks:
    """webhook-id, webhook-timestamp and any number of signatures; secrets are base64, or plain text."""

    def keys(self, secret: str) -> list[bytes]:
        decoded = from_base64(secret.strip().removeprefix(_BASE64_PREFIX))
        plain = None if secret.strip().startswith(_BASE64_PREFIX) else _bytes(secret)
        return [key for key in (decoded, plain) if key is not None]

    def claim(self, headers: Headers, names: HeaderNames, body: bytes) -> Claim:
        delivery_id = headers.get(names.delivery or "webhook-id")
        stamp = headers.get(names.timestamp or "webhook-timestamp")
        parts = headers.get(names.signature or "webhook-signature").split()
        sent = (from_base64(part.removeprefix("v1,")) for part in parts if part.startswith("v1,"))
        signed = _joined(body, delivery_id, stamp)
        found = tuple(each for each in sent if each)
        return Claim(found, signed, delivery_id, _milliseconds(stamp), id_is_signed=True)

    def sign(self, key: bytes, letter: SigningInput) -> dict[str, str]:
        if not letter.stamp or not letter.delivery_id:
            raise ValueError("standard-webhooks signs a time and a delivery id; give both")
        made = mac(key, _joined(letter.body, letter.delivery_id, letter.stamp))
        return {
            letter.names.delivery or "webhook-id": letter.delivery_id,
            letter.names.timestamp or "webhook-timestamp": letter.stamp,
            letter.names.signature or "webhook-signature": f"v1,{base64.b64encode(made).decode()}",
        }


class GitHub:
    """X-Hub-Signature-256 over the body alone."""

    def keys(self, secret: str) -> list[bytes]:
        return [_bytes(secret)]

    def claim(self, headers: Headers, names: HeaderNames, body: bytes) -> Claim:
        name = names.signature or "X-Hub-Signature-256"
        sent = _signature(name, headers.get(name))
        return Claim((sent,), body, headers.find(names.delivery or "X-GitHub-Delivery"))

    def sign(self, key: bytes, letter: SigningInput) -> dict[str, str]:
        name = letter.names.signature or "X-Hub-Signature-256"
        return {name: f"sha256={mac(key, letter.body).hex()}"} | _named("X-GitHub-Delivery", letter)


class HmacSha256:
    """X-Signature-256 or X-Signature over the body, or over `<X-Timestamp>.<body>`."""

    def keys(self, secret: str) -> list[bytes]:
        return [_bytes(secret)]

    def claim(self, headers: Headers, names: HeaderNames, body: bytes) -> Claim:
        choices = (names.signature,) if names.signature else ("X-Signature-256", "X-Signature")
        sent = (_signature(" or ".join(choices), headers.get(*choices)),)
        delivery_id = _delivery_id(headers, names)
        stamp = headers.get(names.timestamp) if names.timestamp else headers.find("X-Timestamp")
        if stamp is not None:
            return Claim(sent, _joined(body, stamp), delivery_id, _milliseconds(stamp))
        # Else a captured request would pass again with its time moved from the header into the body.
        if _LOOKS_STAMPED.match(body):
            message = "the body begins like a signed time, and the header X-Timestamp is missing"
            raise BadSignature("timestamp-missing", message)
        return Claim(sent, body, delivery_id)

    def sign(self, key: bytes, letter: SigningInput) -> dict[str, str]:
        signed = _joined(letter.body, letter.stamp) if letter.stamp else letter.body
        made = {letter.names.signature or "X-Signature-256": mac(key, signed).hex()}
        stamped = {letter.names.timestamp or "X-Timestamp": letter.stamp} if letter.stamp else {}
        return made | stamped | _named(_DELIVERY[0], letter)


class Bearer:
    """Authorization: Bearer <token>, or the token alone in x-openclaw-token, as OpenClaw's senders write it;
    in a header that the operator names the token may stand alone, too."""

    def keys(self, secret: str) -> list[bytes]:
        return [_bytes(secret.strip())]

    def claim(self, headers: Headers, names: HeaderNames, body: bytes) -> Claim:  # noqa: ARG002 - unsigned
        alone = headers.find(names.signature or OPENCLAW_TOKEN)
        value = headers.get(names.signature or "Authorization") if alone is None else alone
        word, _, token = value.partition(" ")
        if word.lower() != "bearer" and alone is None:
            raise BadSignature("header-malformed", "the header Authorization is not Bearer and a token")
        sent = (token if word.lower() == "bearer" else value).strip(AROUND).encode("latin-1")
        return Claim((sent,), None, _delivery_id(headers, names))

    def sign(self, key: bytes, letter: SigningInput) -> dict[str, str]:
        name = letter.names.signature or "Authorization"
        return {name: f"Bearer {key.decode('latin-1')}"} | _named(_DELIVERY[0], letter)


SCHEMES: dict[Signature, Scheme] = {
    "standard-webhooks": StandardWebhooks(),
    "github": GitHub(),
    "hmac-sha256": HmacSha256(),
    "bearer": Bearer(),
}


def mac(key: bytes, signed: bytes) -> bytes:
    return hmac.new(key, signed, hashlib.sha256).digest()


def from_base64(text: str) -> bytes | None:
    """Standard or URL-safe, with or without the padding; None when it is neither."""
    bare = text.rstrip("=")
    padded = bare.replace("-", "+").replace("_", "/") + "=" * (-len(bare) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except ValueError:
        return None


def _bytes(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogateescape")


def _joined(body: bytes, *before: str) -> bytes:
    return b".".join([*(part.encode("latin-1") for part in before), body])


def _signature(name: str, value: str) -> bytes:
    text = value[7:] if value[:7].lower() == "sha256=" else value
    found = bytes.fromhex(text) if _HEX.fullmatch(text) else from_base64(text)
    if found is None or len(found) != hashlib.sha256().digest_size:
        raise BadSignature("header-malformed", f"the header {name} holds no SHA-256 signature")
    return found


def _milliseconds(stamp: str) -> int:
    if _TIMESTAMP.fullmatch(stamp) is None:
        message = "the time of signing is no whole number of seconds or milliseconds"
        raise BadSignature("header-malformed", message)
    return int(stamp) if int(stamp) >= _FIRST_IN_MILLISECONDS else int(stamp) * 1000


def _delivery_id(headers: Headers, names: HeaderNames) -> str | None:
    return headers.find(names.delivery) if names.delivery else headers.find(*_DELIVERY)


def _named(default: str, letter: SigningInput) -> dict[str, str]:
    return {letter.names.delivery or default: letter.delivery_id} if letter.delivery_id else {}
