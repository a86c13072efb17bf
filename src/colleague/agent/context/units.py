"""The units of a run, from its stored messages and calls."""

from __future__ import annotations

from collections import defaultdict

from colleague.agent.call_result import with_results
from colleague.agent.context.unit import MessageUnit
from colleague.agent.conversation import Conversation
from colleague.agent.render import presenter
from colleague.store.journal import Call


def own_units(conversation: Conversation, result_chars: int) -> list[MessageUnit]:
    """Of the run at work. What has not changed since the last time is not made again."""
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in conversation.calls:
        calls[call.position].append(call)
    present = presenter(result_chars, conversation.approvals)
    known, seq = conversation.context.own_units, conversation.run.seq
    units = []
    for message, parsed in conversation.stored:
        own = calls.get(message.position, [])
        made_from = (result_chars, *((call.id, call.status, call.result) for call in own))
        found = known.get(message.position)
        if found is None or found[0] != made_from:
            messages = with_results(message, parsed, own, present)
            unit = MessageUnit.of((seq, message.position), messages, opens=message.position == 0)
            found = known[message.position] = (made_from, unit)
        units.append(found[1])
    return units
