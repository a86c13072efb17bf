"""colleague status: how everything stands, at one glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colleague.cli.options import HomeOption, JsonOption

if TYPE_CHECKING:
    from colleague.home import Home
    from colleague.store.tx import Tx

ORDER = ("queued", "running", "waiting", "retrying")
MOST_TOLD = 10


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Queue, waiting approvals, dead letters, what was delivered, spend today."""
    from colleague.cli.hosting import opened, with_database
    from colleague.cli.output import say, say_json

    place, _ = opened(home)
    document = with_database(home, lambda database: database.read(lambda tx: _document(tx, place)))
    if as_json:
        say_json(document)
        return
    for line in _lines(document):
        say(line)


def _document(tx: Tx, home: Home) -> dict[str, Any]:
    from dataclasses import asdict

    from colleague.experts.reporting import approval_report, parcel_report
    from colleague.store.approvals import pending_approvals
    from colleague.store.outbox import recent_parcels
    from colleague.store.overview import dead_letters, runs_by_status, spent_today_by_expert, unsent

    told = [
        parcel for parcel in recent_parcels(tx, 50) if parcel.kind not in ("approval", "draft", "learning")
    ]
    return {
        "home": str(home.root),
        "runs": runs_by_status(tx),
        "approvals": [approval_report(tx, home, each) for each in pending_approvals(tx, 100)],
        "dead_letters": [run.id for run in dead_letters(tx, 100)],
        "delivered": [parcel_report(tx, home, parcel) for parcel in told[:MOST_TOLD]],
        "undelivered": unsent(tx),
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
    }


def _lines(document: dict[str, Any]) -> list[str]:
    runs = document["runs"]
    counts = ", ".join(f"{runs[word]} {word}" for word in ORDER if runs.get(word))
    lines = [f"Home: {document['home']}", f"Runs: {counts or 'nothing is under way'}"]
    lines += _waiting(document["approvals"])
    if document["dead_letters"]:
        lines.append(f"Dead letters: {len(document['dead_letters'])} (colleague deadletter list)")
    if document["undelivered"]:
        lines.append(f"Not delivered yet: {document['undelivered']}")
    for each in document["delivered"]:
        lines.append(_told(each))
    for spent in document["spent_today"]:
        lines.append(
            f"Spent today: {spent['expert']} {spent['tokens']:,} tokens, {spent['cost']:.2f} dollars"
        )
    return lines


def _waiting(approvals: list[dict[str, Any]]) -> list[str]:
    from colleague.store.ids import short

    if not approvals:
        return ["Waiting for you: nothing"]
    lines = [f"Waiting for you: {len(approvals)}"]
    for each in approvals:
        behind = f", {each['behind']} behind it" if each["behind"] else ""
        lines.append(f"  {each['kind']} {short(each['id'])} {each['expert']}: {each['operation']}{behind}")
    return lines


def _told(parcel: dict[str, Any]) -> str:
    body = parcel["body"]
    text = body.get("narrative") or body.get("reason") or body.get("title") or ""
    where = "" if parcel["channel"] == "main" else f" to {parcel['channel']}"
    head = f"{parcel['kind'].capitalize()} of run {parcel['run']} ({body.get('expert', '')})"
    return f"{head}, {parcel['status']}{where}: {' '.join(str(text).split())[:300]}"
