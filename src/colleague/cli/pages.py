"""Lists of which a part is shown: reading a page, and saying that there is more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colleague.store.paging import Page
    from colleague.store.sql import Table
    from colleague.store.tx import Tx

T = TypeVar("T")


def page_reader(
    table: Table, noun: str, after: str, read: Callable[[Tx, str | None], Page[T]], count: Callable[[Tx], int]
) -> Callable[[Tx], tuple[Page[T], int]]:
    """Reads the page after `after`, which is the ending of an id, and how many there are in all."""

    def work(tx: Tx) -> tuple[Page[T], int]:
        from colleague.store.lookup import full_id

        start = full_id(tx, table, noun, after) if after else None
        page = read(tx, start)
        complete = page.next_after is None and start is None
        return page, len(page.items) if complete else count(tx)

    return work


def note_more(page: Page[T], total: int, command: str) -> None:
    """On stderr, so that a list stays a list for other programs."""
    from colleague.cli.output import note
    from colleague.run_document import short

    if page.next_after is not None:
        shown, rest = len(page.items), f"{command} --after {short(page.next_after)}"
        note(f"This is not all: {shown:,} of {total:,} are shown. Go on with: {rest} (or --limit N)")
