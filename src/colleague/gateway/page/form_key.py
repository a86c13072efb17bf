"""The key of a form, written differently on every page.

Compressed pages of one length or another tell what stands in them; a key that never looks the same cannot be
guessed letter by letter (BREACH)."""

from __future__ import annotations

import binascii
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode


def masked(secret: str) -> str:
    plain = secret.encode()
    pad = secrets.token_bytes(len(plain))
    return urlsafe_b64encode(pad + _xor(pad, plain)).decode()


def unmasked(given: str) -> bytes:
    """What `masked` was given; of any other text something that is no key."""
    try:
        both = urlsafe_b64decode(given.encode())
    except (binascii.Error, ValueError):
        return b""
    half = len(both) // 2
    return _xor(both[:half], both[half:])


def _xor(pad: bytes, text: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(pad, text, strict=False))
