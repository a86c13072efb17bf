"""Grants and the calls of one answer: which questions are spared, and which grants no longer count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from colleague.store.call_target import SCHEMA_CHANGED, CallTarget
from colleague.store.grants import Grant, WantedCall, note_lapsed

if TYPE_CHECKING:
    from colleague.agent.conversation import Conversation
    from colleague.store.journal import NewCall
    from colleague.store.tx import Tx


async def spare_questions(conversation: Conversation, calls: Sequence[NewCall]) -> list[NewCall]:
    """A live grant stands for the yes that would be asked for. One that no longer counts is named in the
    question."""
    grants = await conversation.live_grants()
    lapsed: dict[str, str] = {}
    checked = [_checked(call, grants, lapsed) for call in calls] if grants else list(calls)
    if lapsed:
        await conversation.write(lambda tx: _note_all(tx, lapsed))
    return checked


def _checked(call: NewCall, grants: Sequence[Grant], lapsed: dict[str, str]) -> NewCall:
    target = CallTarget.of_json(call.target)
    if call.status != "asked" or not call.grantable or not call.server or target is None:
        return call  # no grant is for our own tools
    wanted = WantedCall(call.operation, target, json.loads(call.arguments))
    if any(wanted.is_covered_by(grant) for grant in grants):
        return replace(call, status="allowed")
    about = [g for g in grants if g.operation == call.operation and g.has_arguments(wanted.arguments)]
    if not about:
        return call
    reasons = {grant.id: grant.lapse(asdict(target)) for grant in about}
    lapsed |= {each: why for each, why in reasons.items() if why == SCHEMA_CHANGED}
    said = f"A grant for this does not count: {next(iter(reasons.values()))}."
    return replace(call, note=f"{said}\n{call.note}" if call.note else said)


def _note_all(tx: Tx, lapsed: dict[str, str]) -> None:
    for grant_id, reason in lapsed.items():
        note_lapsed(tx, grant_id, reason)
