"""What leaves the runtime: a document without what its run may not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.store.run import Run

D = TypeVar("D")


def public_document(home: Home, run: Run, document: D) -> D:
    """A run of no package has nothing private to tell."""
    if not run.digest:
        return document
    from colleague.experts.privacy.redactor import private_text_of

    private = private_text_of(home, run)
    return cast(D, private.redact_document(document)) if private else document
