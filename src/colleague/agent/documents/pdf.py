"""The text of a PDF file, page by page."""

from __future__ import annotations

import io

from colleague.agent.documents.unreadable import MOST_CHARACTERS, Unreadable


def pdf_text(data: bytes) -> str:
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is locked with a password")
    parts: list[str] = []
    size = 0
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text().strip()
        parts.append(f"[page {number}]\n{text}")
        size += len(text)
        if size > MOST_CHARACTERS:
            break
    if not size:
        raise Unreadable("it has no text, only pictures of pages")
    return "\n\n".join(parts) + "\n"
