"""How a result looks to the model: untrusted text stays data, and long text is cut in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from colleague.agent.context.result_text import result_text
from colleague.agent.context.result_text import shortened as shortened
from colleague.agent.conversation import Result
from colleague.data_element import wrapped as wrapped  # for those who render what the model sees
from colleague.store.approvals import Approval
from colleague.store.journal import Call

CHANGED = "A person changed the arguments before saying yes; it was done with these:"
CHANGED_BY_PLUGIN = "A plugin changed the arguments before anybody judged them; the call is this one:"
MAY_HAVE_HAPPENED = "The tool reported an error, but what was asked may have happened."


def presenter(limit: int, approvals: Iterable[Approval] = ()) -> Callable[[Call], str]:
    """`approvals` are the questions about the calls: a yes may have changed what was done."""
    edits = {each.call_id: each for each in approvals if each.status == "decided" and _is_edit(each)}

    def shown(call: Call) -> str:
        text, edit = present(Result.of(call), limit), edits.get(call.id)
        if edit is None and call.changed_by:
            return f"{CHANGED_BY_PLUGIN}\n{wrapped(call.arguments, f'plugin:{call.changed_by}')}\n{text}"
        if edit is None:
            return text
        return f"{CHANGED}\n{wrapped(call.arguments, f'person:{edit.decided_by}')}\n{text}"

    return shown


def _is_edit(approval: Approval) -> bool:
    return approval.decision == "approve" and approval.answer is not None


def present(result: Result, limit: int) -> str:
    text = result_text(result.text, limit)
    return wrapped(text, result.source) if result.source else text


def attempt_failed(error: str) -> str:
    """How an agent is told of the attempt before: the error may quote what others wrote."""
    return f"[The last attempt failed.]\n{wrapped(error, 'attempt')}"
