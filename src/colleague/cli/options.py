"""Options that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colleague.cli.shell_completion import complete_expert

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="The home folder (default: OPENCLAW_STATE_DIR, else ~/.openclaw).",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
ExpertArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="An installed expert.", autocompletion=complete_expert)
]

LimitOption = Annotated[int, typer.Option("--limit", min=1, help="How many to show.")]
AfterOption = Annotated[
    str, typer.Option("--after", metavar="ID", help="Go on after this one, the last of what was shown.")
]
ModelOption = Annotated[str, typer.Option("--model", help="Use this model, as provider/model.")]
WaitOption = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it ends or asks.")]
