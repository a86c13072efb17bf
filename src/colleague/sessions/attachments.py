"""Files that come with a message, as programs send them: a path, base64, a data URL, or kept in the home."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from colleague.agent.pictures.media import MediaRef, load_picture
from colleague.agent.pictures.message import Attachment, MessagePictures, find_pictures
from colleague.agent.tools.tree import Tree
from colleague.errors import UsageError
from colleague.home import Home


def kept_attachments(
    home: Home, tree: Tree, text: str, given: Sequence[Mapping[str, Any]]
) -> MessagePictures:
    """Keeps the pictures of a message, and says what was left out. Raises UsageError. It reads files."""
    return find_pictures(home, tree, text, [attachment_of(home, each) for each in given])


def attachment_of(home: Home, given: Mapping[str, Any]) -> Attachment:
    """`{"path": ...}`, `{"data": BASE64}` or `{"url": "data:..."}`, each with an optional `name`. A program
    of this machine that has put the bytes into the home names them by `{"url": "media:SHA256"}`."""
    name = str(given.get("name") or given.get("path") or "attachment")
    url, data = given.get("url"), given.get("data")
    if isinstance(url, str) and (kept := MediaRef.of(url, "")) is not None:
        return Attachment(name, data=_kept(home, name, kept))
    if isinstance(url, str) and url.startswith("data:"):
        data = url.partition(",")[2]
    if isinstance(data, str):
        return Attachment(name, data=_decoded(name, data))
    if isinstance(given.get("path"), str):
        return Attachment(name, path=str(given["path"]))
    raise UsageError(
        f"the attachment {name} has no content", hint='send {"data": BASE64}, a data: URL, or {"path": ...}'
    )


def _kept(home: Home, name: str, ref: MediaRef) -> bytes:
    data = load_picture(home, ref)
    if data is None:
        raise UsageError(f"the attachment {name} is not in this home", hint='send {"data": BASE64} instead')
    return data


def _decoded(name: str, data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"the attachment {name} is no base64", hint="encode its bytes as base64") from None
