"""Pages and their files in fewer bytes, for browsers that take gzip."""

from __future__ import annotations

import gzip

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colleague.gateway.page.paths import is_page
from colleague.gateway.same_origin import header_values, is_foreign_link

LEAST_BYTES = 1_000
"""Less fits into one packet anyway."""
LEVEL = 5
KINDS = frozenset(("text/html", "text/css", "text/javascript", "image/svg+xml"))


class CompressionMiddleware:
    """Compresses whole answers of the page. Streams pass as they are, so that nothing of them is held back.

    A link of another site gets its page as it is: how well its words compress would tell what stands there.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = is_page(scope["path"]) and _takes_gzip(scope) and not is_foreign_link(scope)
        await self._app(scope, receive, _compressing(send) if wanted else send)


def _compressing(send: Send) -> Send:
    head: Message | None = None

    async def sending(message: Message) -> None:
        nonlocal head
        if message["type"] == "http.response.start" and _is_text(message):
            head = message  # until the first part shows whether it is the whole answer
            return
        if head is not None:
            begin, head = head, None
            whole = not message.get("more_body", False)
            begin, message = _smaller(begin, message) if whole else (begin, message)
            await send(begin)
        await send(message)

    return sending


def _smaller(head: Message, body: Message) -> tuple[Message, Message]:
    headers = [*head["headers"], (b"vary", b"Accept-Encoding")]
    plain: bytes = body.get("body", b"")
    if len(plain) < LEAST_BYTES:
        return {**head, "headers": headers}, body
    small = gzip.compress(plain, LEVEL, mtime=0)
    headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    headers += [(b"content-encoding", b"gzip"), (b"content-length", str(len(small)).encode())]
    return {**head, "headers": headers}, {**body, "body": small}


def _is_text(head: Message) -> bool:
    found = {name.lower(): value.decode("latin-1") for name, value in head["headers"]}
    kind = found.get(b"content-type", "").partition(";")[0].strip().lower()
    return kind in KINDS and b"content-encoding" not in found


def _takes_gzip(scope: Scope) -> bool:
    offered = ",".join(header_values(scope, b"accept-encoding")).lower().split(",")
    names = [each.replace(" ", "").partition(";") for each in offered]
    return any(name == "gzip" and quality not in ("q=0", "q=0.0", "q=0.00") for name, _, quality in names)
