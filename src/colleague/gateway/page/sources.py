"""What an agent had read before it asked: results of earlier calls, a mail among them as a mail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colleague.gateway.gateway import Gateway
from colleague.gateway.page.fields import as_json
from colleague.gateway.page.mail import Mail, mail_of
from colleague.run_document import ApprovalDocument, CallDocument

MOST = 6
LONGEST = 6_000


@dataclass(frozen=True)
class ReadSource:
    """One result. `cut` says that more of it is in the run."""

    operation: str
    arguments: str
    mail: Mail | None
    text: str
    cut: bool


async def sources_of(gateway: Gateway, approval: ApprovalDocument) -> list[ReadSource]:
    """The last results before the question, in their order."""
    run = await gateway.service.run(approval["run_id"])
    asked = approval["requested_at"] or ""
    read = [each for each in run["calls"] if _is_source(each) and (each["ended_at"] or "") <= asked]
    return [_source(each) for each in read[-MOST:]]


def _is_source(call: CallDocument) -> bool:
    return call["status"] == "finished" and not call["is_error"] and "." in call["operation"]


def _source(call: CallDocument) -> ReadSource:
    text = str((call["result"] or {}).get("text", ""))
    document = _parsed(text)
    written = text if document is None else as_json(document)
    arguments = ", ".join(map(_plain, (call["arguments"] or {}).values()))[:200]
    return ReadSource(
        call["operation"], arguments, mail_of(document), written[:LONGEST], len(written) > LONGEST
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
