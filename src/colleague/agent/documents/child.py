"""Reads text out of a document, in a process of its own with little memory and time.

The document comes in on standard input; one line of JSON goes out: `text` and `title`, or `error`. Whatever a
hostile document does to a parser ends with this process."""

from __future__ import annotations

import json
import sys
from typing import Any

from colleague.agent.documents.unreadable import MOST_CHARACTERS, Unreadable

MOST_MEMORY = 1 << 30


def limit(seconds: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def read(kind: str, data: bytes) -> dict[str, Any]:
    if kind == "html":
        from colleague.agent.documents.html import html_text

        return html_text(data)
    if kind == "pdf":
        from colleague.agent.documents.pdf import pdf_text

        return {"text": pdf_text(data)}
    from colleague.agent.documents import office

    readers = {"docx": office.docx_text, "xlsx": office.xlsx_text, "pptx": office.pptx_text}
    return {"text": readers[kind](data)}


def main() -> None:
    kind, seconds = sys.argv[1], int(sys.argv[2])
    limit(seconds)
    try:
        found = read(kind, sys.stdin.buffer.read())
    except Unreadable as error:
        found = {"error": str(error)}
    except (MemoryError, RecursionError):
        found = {"error": "it is too large"}
    except Exception as error:  # noqa: BLE001 - whatever a parser says of a broken file
        found = {"error": f"it is damaged ({type(error).__name__})"}
    text = found.get("text", "")
    if len(text) > MOST_CHARACTERS:
        found |= {"text": text[:MOST_CHARACTERS], "cut": True}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
