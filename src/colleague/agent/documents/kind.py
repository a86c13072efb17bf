"""Which documents have text that can be read out of them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

DocumentKind = Literal["html", "pdf", "docx", "xlsx", "pptx"]

_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"
_OFFICE: dict[str, DocumentKind] = {
    ".docx": "docx",
    ".docm": "docx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".pptx": "pptx",
    ".pptm": "pptx",
}
_OFFICE_TYPES: dict[str, DocumentKind] = {
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
}


def document_kind(name: str, data: bytes, content_type: str = "") -> DocumentKind | None:
    """By what the bytes begin with, and for office files by the name or the type that was said."""
    if data[:1024].lstrip().startswith(_PDF):
        return "pdf"
    if not data.startswith(_ZIP):
        return None
    return _OFFICE.get(PurePosixPath(name).suffix.lower()) or _OFFICE_TYPES.get(content_type)
