"""How a result looks to the model: untrusted text stays data, and long text is cut in the middle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from colleague.agent.conversation import Result
from colleague.store.approvals import Approval
from colleague.store.journal import Call

CHANGED = "A person changed the arguments before saying yes; it was done with these:"
MAY_HAVE_HAPPENED = "The tool reported an error, but what was asked may have happened."
HEAD = 0.7
TAIL = 0.2

_UNSEEN = r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*+"
_GAP = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*+"
_SIGNS = "<\ufe64\uff1c"
_CLOSING = re.compile(rf"([{_SIGNS}]{_GAP})[/\u2044\u2215\uff0f](?={_GAP}(?i:{_UNSEEN.join('data')}))")
"""Whatever could be taken for the end of a wrapper."""
_MARKUP = re.compile(rf'["<>{_SIGNS}\ufe65\uff1e\uff02\u201c\u201d]|[^\S ]|[\x00-\x1f\x7f-\x9f]')
"""What a source may not have in it: the name of a person, a tool or a file is no markup."""
LONGEST_SOURCE = 300


def presenter(limit: int, approvals: Iterable[Approval] = ()) -> Callable[[Call], str]:
    """`approvals` are the questions about the calls: a yes may have changed what was done."""
    edits = {each.call_id: each for each in approvals if each.status == "decided" and _is_edit(each)}

    def shown(call: Call) -> str:
        text, edit = present(Result.of(call), limit), edits.get(call.id)
        if edit is None:
            return text
        return f"{CHANGED}\n{wrapped(call.arguments, f'person:{edit.decided_by}')}\n{text}"

    return shown


def _is_edit(approval: Approval) -> bool:
    return approval.decision == "approve" and approval.answer is not None


def present(result: Result, limit: int) -> str:
    text = shortened(result.text, limit)
    return wrapped(text, result.source) if result.source else text


def wrapped(text: str, source: str) -> str:
    """Whatever stands inside is data with a source; it cannot close the wrapper itself."""
    safe = _CLOSING.sub(r"\1\\/", text) if any(sign in text for sign in _SIGNS) else text
    name = " ".join(_MARKUP.sub("'", source).split())[:LONGEST_SOURCE]
    return f'<data source="{name}">\n{safe}\n</data>'


def attempt_failed(error: str) -> str:
    """How an agent is told of the attempt before: the error may quote what others wrote."""
    return f"[The last attempt failed.]\n{wrapped(error, 'attempt')}"


def shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, tail = int(limit * HEAD), int(limit * TAIL)
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"
