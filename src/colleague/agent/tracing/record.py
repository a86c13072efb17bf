"""One line of a trace: made beside the work, and cleaned of secrets and private text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from colleague.agent.privacy import NothingPrivate, Private
from colleague.redaction import redact

LONGEST_LINE = 5_000_000
"""Characters. Of a longer line only its names and short values are kept."""
_SHORT = 500

Document = dict[str, Any]


def now() -> str:
    """The time of a line, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Cleaner:
    """Takes out what may not be written down: what is private, keys of models, whatever looks like a key."""

    private: Private = field(default_factory=NothingPrivate)
    secrets: tuple[str, ...] = ()

    def knowing(self, secrets: tuple[str, ...]) -> Cleaner:
        """The same, with more secrets."""
        return replace(self, secrets=tuple(dict.fromkeys((*self.secrets, *secrets))))

    def text(self, text: str) -> str:
        return redact(self.private.redact(text), self.secrets)

    def json(self, document: Any) -> str:
        shown = self.private.redact_document(document)
        return redact(json.dumps(shown, ensure_ascii=False, default=str), self.secrets)

    def line(self, document: Document) -> str:
        """As JSON on one line, which is never too long."""
        text = self.json(document)
        if len(text) <= LONGEST_LINE:
            return text
        short = {key: value for key, value in document.items() if len(str(value)) <= _SHORT}
        return self.json(short | {"left_out": f"this line has {len(text)} characters"})
