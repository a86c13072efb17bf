"""Files that a person sends with a message: pictures as pictures, everything else as its text."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import UploadFile

from colleague.agent.documents.extract import NoDocumentText, document_text
from colleague.agent.documents.kind import document_kind
from colleague.agent.pictures.header import PictureError, read_header
from colleague.agent.pictures.picture import MOST_BYTES
from colleague.data_element import wrapped
from colleague.errors import UsageError
from colleague.gateway.api_error import ApiError
from colleague.gateway.gateway import Gateway
from colleague.gateway.page.form import KEY, check_key, read_form
from colleague.gateway.page.visitor import VisitorDep, find_visitor
from colleague.runtime.requests import MOST_FILE_CHARACTERS

MOST_FILES = 10
MOST_UPLOAD_BYTES = 3 * MOST_BYTES
"""Of one message with all of its files."""
_NOTHING_SENT = "nothing was sent"


@dataclass(frozen=True)
class SentFile:
    """A file as the browser sent it."""

    name: str
    data: bytes


@dataclass(frozen=True)
class SentForm:
    """The fields and files of one message."""

    text: str
    once: str
    files: Sequence[SentFile] = ()


@dataclass(frozen=True)
class AttachedContent:
    """What goes along with a message: text behind its words, and pictures."""

    texts: Sequence[str] = ()
    pictures: tuple[dict[str, Any], ...] = ()


async def sent_form(request: Request, visitor: VisitorDep) -> SentForm:
    """A message that this visitor sent with a form of ours, with or without files. Raises ApiError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        form = await read_form(request)
        check_key(form.get(KEY, ""), visitor)
        return SentForm(form.get("text", ""), form.get("once", ""))
    try:
        async with request.form(max_files=MOST_FILES, max_fields=20) as given:
            texts = {name: value for name, value in given.items() if isinstance(value, str)}
            check_key(texts.get(KEY, ""), visitor)
            uploads = [each for each in given.getlist("files") if isinstance(each, UploadFile)]
            files = [SentFile(_name(each.filename), await each.read()) for each in uploads if each.filename]
    except ValueError as error:
        raise ApiError(400, "bad-form", f"the form cannot be read: {error}") from None
    return SentForm(texts.get("text", ""), texts.get("once", ""), files)


def _name(given: str | None) -> str:
    return PurePosixPath((given or "").replace("\\", "/")).name or "file"


async def attached_content(files: Sequence[SentFile]) -> AttachedContent:
    """Raises UsageError, with the file, when one of them cannot go along."""
    texts: list[str] = []
    pictures: list[dict[str, Any]] = []
    for each in files:
        if _is_picture(each):
            pictures.append({"name": each.name, "data": base64.b64encode(each.data).decode()})
        else:
            texts.append(wrapped(await _text_of(each), f"file:{each.name}"))
    return AttachedContent(texts, tuple(pictures))


def _is_picture(file: SentFile) -> bool:
    try:
        read_header(file.data)
    except PictureError:
        return False
    if len(file.data) > MOST_BYTES:
        raise UsageError(f"{file.name} is larger than {MOST_BYTES / 1e6:.2f} MB", hint=_NOTHING_SENT)
    return True


async def _text_of(file: SentFile) -> str:
    kind = document_kind(file.name, file.data)
    try:
        text = (await document_text(file.data, kind)).text if kind else file.data.decode("utf-8-sig")
    except (NoDocumentText, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, NoDocumentText) else "it is no text, picture or document"
        raise UsageError(f"{file.name} cannot be sent: {why}", hint=_NOTHING_SENT) from None
    if "\0" in text:
        raise UsageError(f"{file.name} cannot be sent: there is binary data in it", hint=_NOTHING_SENT)
    if len(text) > MOST_FILE_CHARACTERS:
        hint = "nothing was sent; put it into the workspace, where the agent can read it in parts"
        raise UsageError(f"{file.name} has more than {MOST_FILE_CHARACTERS:,} characters", hint=hint)
    return text


async def upload_limit(request: Request, gateway: Gateway) -> int:
    """How much a message on the page may bring: nothing more than usual from whoever is not signed in."""
    if request.method != "POST" or not request.url.path.startswith("/chat/session/"):
        return 0
    visitor = await find_visitor(request, gateway)
    return MOST_UPLOAD_BYTES if visitor is not None and visitor.is_admin else 0


SentFormDep = Annotated[SentForm, Depends(sent_form)]
