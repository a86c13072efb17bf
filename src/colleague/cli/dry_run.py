"""The option --dry-run, with and without a value."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from colleague.run_document import DryRun


class DryRunWord(StrEnum):
    """The values of --dry-run."""

    PLAIN = "plain"
    STRICT = "strict"


DryRunOption = Annotated[
    DryRunWord | None,
    typer.Option(
        "--dry-run",
        help="Describe what needs a person instead of doing it; what needs nobody really runs. "
        "--dry-run=strict also describes that, unless it only reads.",
    ),
]


class DryRunCommand(TyperCommand):
    """`--dry-run` alone is `--dry-run=plain`; only a value after `=` is one, so that a task may follow."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        options = ["--dry-run=plain" if each == "--dry-run" else each for each in args[:end]]
        return super().parse_args(ctx, [*options, *args[end:]])


def dryness(word: DryRunWord | None) -> DryRun:
    return "strict" if word is DryRunWord.STRICT else word is not None
