"""Who sent a webhook, and when: signatures over the raw bytes, compared in constant time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from colleague.experts.bindings import EqualBodies, HeaderNames, Signature
from colleague.experts.key_text import escaped
from colleague.triggers.errors import BadSignature
from colleague.triggers.headers import Headers
from colleague.triggers.scheme import SCHEMES, Claim, Scheme, SigningInput

USUAL = HeaderNames()


@dataclass(frozen=True)
class Verified:
    """A request that is what it says it is. `secret` is the place of the secret that fitted.

    `delivery_id` is the sender's own, and anybody's who sends the request again unless `id_is_signed`;
    `signed_hash` is of all that was signed, None when nothing was."""

    secret: int
    delivery_id: str | None = None
    signed_hash: str | None = None
    timestamp_ms: int | None = None
    id_is_signed: bool = False

    def repeat_keys(self, *, equal_bodies: EqualBodies = "repeat") -> RepeatKeys:
        """What gives a repeat away. `distinct`: without a signed time, equal bodies are two events."""
        told_apart = self.timestamp_ms is None and equal_bodies == "distinct"
        signed = f"signed:{self.signed_hash}" if self.signed_hash and not told_apart else None
        delivery = f"delivery:{escaped(self.delivery_id)}" if self.delivery_id else None
        return RepeatKeys(signed, delivery, self.id_is_signed)


@dataclass(frozen=True)
class RepeatKeys:
    """`signed` is of the signed bytes; `delivery` of the sender's id, which may be signed or not."""

    signed: str | None = None
    delivery: str | None = None
    id_is_signed: bool = False


def verify(
    scheme: Signature,
    secrets: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    now: int,
    tolerance_ms: int,
    names: HeaderNames = USUAL,
) -> Verified:
    """Raises BadSignature, and nothing else whatever the headers hold, unless one of the secrets fits.

    Times are in milliseconds. `names` are the headers of a sender that has others than its scheme."""
    keys = _keys(SCHEMES[scheme], secrets)
    claim = SCHEMES[scheme].claim(Headers(headers), names, body)
    fitting = [place for place, key in keys if claim.fits(key)]
    if not fitting:
        what = "token" if scheme == "bearer" else f"{scheme} signature"
        raise BadSignature("signature-wrong", f"the {what} fits none of the hook's secrets")
    _check_time(claim, now, tolerance_ms)
    signed_hash = None if claim.signed is None else hashlib.sha256(claim.signed).hexdigest()
    return Verified(fitting[0], claim.delivery_id, signed_hash, claim.timestamp_ms, claim.id_is_signed)


def sign(
    scheme: Signature,
    secret: str,
    body: bytes,
    *,
    now: int | None = None,
    delivery_id: str = "",
    names: HeaderNames = USUAL,
) -> dict[str, str]:
    """The headers a sender adds. `standard-webhooks` needs `now` (in milliseconds) and `delivery_id`;
    `hmac-sha256` signs the time as well when it is given."""
    stamp = "" if now is None else str(now // 1000)
    [(_, key), *_] = _keys(SCHEMES[scheme], [secret])
    return SCHEMES[scheme].sign(key, SigningInput(body, stamp, delivery_id, names))


def check_secrets(scheme: Signature, secrets: Sequence[str]) -> None:
    """Raises BadSignature when no request could ever fit any of them."""
    _keys(SCHEMES[scheme], secrets)


def _keys(scheme: Scheme, secrets: Sequence[str]) -> list[tuple[int, bytes]]:
    """All keys, each with the place of its secret. An empty one would let anybody in."""
    given = [(place, secret) for place, secret in enumerate(secrets) if secret.strip()]
    if not given:
        message = "no secret is configured for this hook"
        raise BadSignature("no-secret", message, hint="set secret in bindings.yaml")
    keys = [(place, key) for place, secret in given for key in scheme.keys(secret) if key]
    if not keys:
        message = "the secret of this hook is no base64 after whsec_"
        raise BadSignature("secret-unusable", message, hint="copy it again from the sender's settings")
    return keys


def _check_time(claim: Claim, now: int, tolerance_ms: int) -> None:
    age = 0 if claim.timestamp_ms is None else now - claim.timestamp_ms
    if abs(age) <= tolerance_ms:
        return
    when = "ago" if age > 0 else "in the future"
    message = f"it was signed {abs(age) // 1000} seconds {when}, and {tolerance_ms // 1000} are allowed"
    hint = "check both clocks, or raise tolerance in bindings.yaml"
    raise BadSignature("too-old" if age > 0 else "too-new", message, hint=hint)
