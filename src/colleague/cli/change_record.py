"""What commands change in files by themselves is written down for the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.home import Home


def record_change(home: Home, action: str, subject: str, *, expert: str = "", **detail: object) -> None:
    """Notes who did it. What is done stays done where this cannot be written; that is said in one line."""
    from colleague.audit_file import AuditFile, CommandChange
    from colleague.cli.output import note
    from colleague.clock_file import home_clock
    from colleague.errors import ColleagueError
    from colleague.store.ids import new_id
    from colleague.user_name import user_name

    change = CommandChange(new_id(), home_clock(home).now(), user_name(), action, subject, expert, detail)
    try:
        AuditFile.of(home).add(change)
    except (OSError, ColleagueError) as error:
        note(f"warning: {action} is done and not in the audit log: {error}")
