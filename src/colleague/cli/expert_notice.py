"""What of an expert's package does not count yet, because nobody accepted it."""

from __future__ import annotations

from collections.abc import Iterable

from colleague.cli.output import note
from colleague.experts.expert import Expert


def notice(expert: Expert) -> tuple[str, str]:
    """A sentence and the command that accepts the difference; two empty texts when everything counts."""
    from colleague.errors import ColleagueError
    from colleague.experts.accepted import accept_command, not_accepted_notice

    if expert.is_accepted:
        return "", ""
    try:
        package = expert.read().package
        said = not_accepted_notice(expert, package) if package else ""
    except ColleagueError as error:
        said = error.message
    return said, accept_command(expert) if said else ""


def note_all(experts: Iterable[Expert]) -> None:
    for expert in experts:
        said, command = notice(expert)
        if said:
            note(f"{expert.name}: {said}\n  accept it with: {command}")
