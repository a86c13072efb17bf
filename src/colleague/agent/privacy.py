"""What the model may read and nobody else may see."""

from __future__ import annotations

from typing import Any, Protocol


class Private(Protocol):
    """Recognises private text wherever it turns up. False when there is none."""

    def redact(self, text: str) -> str: ...
    def redact_document(self, document: Any) -> Any: ...
    def leaks(self, text: str) -> bool: ...
    def __bool__(self) -> bool: ...


class NothingPrivate:
    """For an agent without private knowledge."""

    def redact(self, text: str) -> str:
        return text

    def redact_document(self, document: Any) -> Any:
        return document

    def leaks(self, text: str) -> bool:  # noqa: ARG002 - the protocol's
        return False

    def __bool__(self) -> bool:
        return False
