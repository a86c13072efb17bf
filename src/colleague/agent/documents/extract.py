"""Reads text out of a document, whatever the document tries."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from dataclasses import dataclass

from colleague.agent.documents.kind import DocumentKind
from colleague.errors import ColleagueError

USUAL_SECONDS = 30.0
_MODULE = "colleague.agent.documents.child"


class NoDocumentText(ColleagueError):
    """A document has no text that can be read; the message says why and nothing else."""


@dataclass(frozen=True)
class DocumentText:
    """What was read out of a document. `cut`: it has more."""

    text: str
    title: str = ""
    cut: bool = False


async def document_text(data: bytes, kind: DocumentKind, seconds: float = USUAL_SECONDS) -> DocumentText:
    """Raises NoDocumentText."""
    return await asyncio.to_thread(_extract, data, kind, max(1, math.ceil(seconds)))


def _extract(data: bytes, kind: DocumentKind, seconds: int) -> DocumentText:
    command = [sys.executable, "-I", "-m", _MODULE, kind, str(seconds)]
    try:
        ended = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False, env={})
        found = json.loads(ended.stdout)
    except subprocess.TimeoutExpired:
        raise NoDocumentText(f"it could not be read within {seconds} seconds") from None
    except ValueError:
        raise NoDocumentText(
            f"the {kind} document cannot be read: it needs too much time or memory"
        ) from None
    if "error" in found:
        raise NoDocumentText(found["error"])
    return DocumentText(found["text"], found.get("title", ""), found.get("cut", False))
