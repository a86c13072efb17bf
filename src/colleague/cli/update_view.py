"""colleague expert update: what changes, in the open, before it takes effect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colleague.cli.change_record import record_change
from colleague.cli.output import CROSS, TICK, confirm, note, progress, say, say_error, say_json
from colleague.cli.typed import with_home
from colleague.errors import ColleagueError, PackageError
from colleague.experts.expert import discover
from colleague.experts.update import Update, apply_update, prepared_update
from colleague.home import Home


@dataclass(frozen=True)
class Answers:
    """What the person said beforehand."""

    force: bool
    yes: bool
    as_json: bool
    accept_edits: bool = False
    to: str = ""


def update_experts(home: Home, workspace: Path, name: str, answers: Answers) -> bool:
    """Updates one expert, or all without a name. One that fails does not keep the others from it."""
    names = [name] if name else [expert.name for expert in discover(home)]
    results = [_update_safely(home, workspace, each, answers) for each in names]
    if answers.as_json:
        say_json(results)
    elif not names:
        say("No experts are installed.")
    return all(result["status"] != "refused" for result in results)


def _update_safely(home: Home, workspace: Path, name: str, answers: Answers) -> dict[str, Any]:
    try:
        return _update(home, workspace, name, answers)
    except ColleagueError as error:
        say_error(error)
        return {"expert": name, "status": "refused", "reason": error.message}


def _update(home: Home, workspace: Path, name: str, answers: Answers) -> dict[str, Any]:
    with ExitStack() as source:
        with progress(f"Updating {name}") as tell:
            prepared = prepared_update(home, name, tell, accept_edits=answers.accept_edits, to=answers.to)
            update = source.enter_context(prepared)
        return _decide(home, workspace, update, answers)


def _decide(home: Home, workspace: Path, update: Update, answers: Answers) -> dict[str, Any]:
    name = update.expert.name
    tell = note if answers.as_json else say
    if update.current:
        apply_update(home, workspace, update)
        tell(f"{TICK} {name} {update.new.manifest.version} is up to date")
        _tell_pinned(update, tell)
        return _result(update, "current")
    for line in _lines(update):
        tell(line)
    if update.needs_force and not answers.force:
        raise PackageError(f"{name} is not updated: {update.needs_force}", hint="run it again with --force")
    if update.loosens:
        verb = "Accept" if update.accepts_folder else "Update"
        confirm(f"{name} may then do more without asking than before. {verb} it?", yes=answers.yes)
    apply_update(home, workspace, update)
    about = {"digest": update.new.digest, "loosens": bool(update.loosens), "force": bool(update.needs_force)}
    record_change(home, "expert.update", name, expert=name, **about)
    if update.accepts_folder:
        tell(f"{TICK} {name} {update.new.manifest.version} is accepted as it is in {update.expert.root}")
        return _result(update, "accepted")
    tell(f"{TICK} {name} is updated to {update.new.manifest.version}")
    _tell_pinned(update, tell)
    return _result(update, "updated")


def _tell_pinned(update: Update, tell: Callable[[str], None]) -> None:
    if update.pinned and update.source is not None:
        tell(f"  it is pinned to {update.source.ref}; to move it: {_move(update)}")


def _move(update: Update) -> str:
    return with_home(f"colleague expert update {update.expert.name} --to REF")


def _lines(update: Update) -> list[str]:
    versions = f"{update.old.manifest.version} → {update.new.manifest.version}"
    origin = update.expert.root if update.accepts_folder else update.source
    lines = [f"{update.expert.name} {versions} from {origin}"]
    lines += [f"  {change.what}" for change in update.changes if not change.loosens]
    if update.step == "same":
        lines.append("  the version is the same, but the files are not")
    if update.loosens:
        lines.append("This loosens approval:")
        lines += [f"{CROSS} {change.what}" for change in update.loosens]
    return lines


def _result(update: Update, status: str) -> dict[str, Any]:
    return {
        "expert": update.expert.name,
        "status": status,
        "pinned": update.pinned,
        "from": update.old.manifest.version,
        "to": update.new.manifest.version,
        "changes": [{"what": change.what, "loosens": change.loosens} for change in update.changes],
    }
