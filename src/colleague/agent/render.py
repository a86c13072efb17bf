"""How a result looks to the model: untrusted text stays data, and long text is cut in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from colleague.agent.call_result import Result
from colleague.agent.context.result_text import result_text
from colleague.agent.context.result_text import shortened as shortened
from colleague.data_element import wrapped as wrapped  # for those who render what the model sees
from colleague.store.approvals import Approval
from colleague.store.journal import Call

CHANGED = "A person changed the arguments before saying yes; it was done with these:"
CHANGED_BY_PLUGIN = "A plugin changed the arguments before anybody judged them; the call is this one:"
PERSON = "person:"
"""Before the name of whoever changed the arguments; a plugin's name has no colon."""
MAY_HAVE_HAPPENED = "The tool reported an error, but what was asked may have happened."


def presenter(limit: int, approvals: Iterable[Approval] = ()) -> Callable[[Call], str]:
    """`approvals` are the questions about the calls: a yes may have changed what was done."""
    edits = {each.call_id: each for each in approvals if is_edit(each)}

    def rendered(call: Call) -> str:
        text, edit = present(Result.of(call), limit), edits.get(call.id)
        by = f"{PERSON}{edit.decided_by}" if edit else call.changed_by
        if not by:
            return text
        if by.startswith(PERSON):
            return f"{CHANGED}\n{wrapped(call.arguments, by)}\n{text}"
        return f"{CHANGED_BY_PLUGIN}\n{wrapped(call.arguments, f'plugin:{by}')}\n{text}"

    return rendered


def is_edit(approval: Approval) -> bool:
    """Whether a person said yes to other arguments than were asked about."""
    decided = approval.status == "decided" and approval.decision == "approve"
    return decided and approval.answer is not None


def present(result: Result, limit: int) -> str:
    text = result_text(result.text, limit)
    return wrapped(text, result.source) if result.source else text


def attempt_failed(error: str) -> str:
    """How an agent is told of the attempt before: the error may quote what others wrote."""
    return f"[The last attempt failed.]\n{wrapped(error, 'attempt')}"
