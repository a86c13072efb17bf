"""How soon a result is promised, counted from the event. Slow is reported, never killed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from colleague.main_names import MAIN_CHANNEL
from colleague.store.outbox import put_in_outbox
from colleague.store.run import Run
from colleague.store.tables import runs
from colleague.store.tx import Tx


@dataclass(frozen=True)
class Sla:
    """`breach` is `warn` (tell, and go on) or `escalate` (tell, and flag)."""

    limit_ms: int
    breach: str = "warn"
    channel: str = MAIN_CHANNEL

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, run: Run) -> Sla | None:
        return cls(**json.loads(run.sla)) if run.sla else None


def note_breach(tx: Tx, run: Run) -> None:
    """Tells people once that a locked run is late. It goes on."""
    sla = Sla.of(run)
    if sla is None or run.sla_breached_at is not None:
        return
    tx.update(runs, {"id": run.id}, sla_breached_at=tx.now)
    reason = f"no result after {sla.limit_ms // 1000} seconds, which is the limit"
    body = {"expert": run.expert, "process": run.process, "reason": reason, "flag": sla.breach == "escalate"}
    put_in_outbox(tx, run.id, "sla", run.id, sla.channel, json.dumps(body, ensure_ascii=False))


def note_late_end(tx: Tx, run: Run) -> None:
    """A run that ends late, before its timer was looked at, is late all the same."""
    sla = Sla.of(run)
    if sla is not None and tx.now > run.created_at + sla.limit_ms:
        note_breach(tx, run)
