"""What came back from the web, as text for a model."""

from __future__ import annotations

import codecs
import json
import re

from colleague.agent.documents.extract import DocumentText, NoDocumentText, document_text
from colleague.agent.documents.kind import DocumentKind, document_kind
from colleague.agent.tools.page import kind_of
from colleague.agent.web.fetch import FetchedPage, FetchFailed

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|javascript|x-ndjson|toml|rtf)|image/svg\+xml|"
    r"application/(x-sh|sql|graphql)"
)
_BEGINS_HTML = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)


async def readable(fetched: FetchedPage, seconds: float) -> DocumentText:
    """Raises FetchFailed for what is no text."""
    data, kind = fetched.body.data, fetched.content_type
    document = document_kind(_file_name(fetched.url), data, kind)
    if document is not None:
        if fetched.body.cut:
            raise FetchFailed(
                f"{fetched.url} is a {document} document of more than {len(data):,} bytes",
                hint="that is tools.web.fetch.maxResponseBytes",
            )
        return await _document(fetched, data, document, seconds)
    if kind in _HTML or (not kind and _BEGINS_HTML.match(data)):
        return await _document(fetched, _as_utf8(data, fetched.charset), "html", seconds)
    if binary := kind_of(data) if kind_of(data) != "UTF-16 text" else "":
        raise FetchFailed(f"{fetched.url} is {binary}, which is not shown as text")
    if kind and not _TEXT.fullmatch(kind):
        raise FetchFailed(f"{fetched.url} is {kind[:100]}, which is not shown as text")
    return DocumentText(_plain(fetched), cut=fetched.body.cut)


async def _document(fetched: FetchedPage, data: bytes, kind: DocumentKind, seconds: float) -> DocumentText:
    try:
        return await document_text(data, kind, seconds)
    except NoDocumentText as error:
        raise FetchFailed(f"{fetched.url} is a {kind} document without readable text: {error}") from None


def _plain(fetched: FetchedPage) -> str:
    text = fetched.body.data.decode(_codec(fetched.charset), "replace")
    if fetched.content_type.endswith("json") and not fetched.body.cut:
        try:
            return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        except (ValueError, RecursionError):
            return text
    return text


def _as_utf8(data: bytes, charset: str) -> bytes:
    """A page whose server says how it is written; a page that says so itself is left to its reader."""
    return data.decode(_codec(charset), "replace").encode() if charset else data


def _codec(charset: str) -> str:
    """A known text encoding, else UTF-8."""
    try:
        found = codecs.lookup(charset or "utf-8")
    except (LookupError, ValueError):
        return "utf-8"
    return found.name if found._is_text_encoding else "utf-8"


def _file_name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]
