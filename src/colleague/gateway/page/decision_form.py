"""From what somebody sent with a form to a decision, and whether changed arguments fit the tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from colleague.argument_check import misfits
from colleague.duration import parse_positive_duration
from colleague.errors import UsageError
from colleague.gateway.page.fields import changed_value, new_value
from colleague.gateway.page.form import Form
from colleague.gateway.schemas import DecisionAsked
from colleague.run_document import ApprovalDocument, Decision

EDITED = "field:"
"""Begins the names of a form's fields that hold arguments."""
ONLY = "only:"
"""Begins the names of the arguments that a grant is limited to."""
THIS_RUN = "run"
LONGEST_NOTE = 10_000


def decision_of(seen: ApprovalDocument, form: Form, by: str) -> DecisionAsked:
    """Raises UsageError when the form makes no sense."""
    decision = form.get("decision", "")
    if decision not in get_args(Decision):
        raise UsageError("this form decides nothing", hint="load the page again")
    note = form.get("note", "").strip()
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"the note has more than {LONGEST_NOTE} characters", hint="make it shorter")
    edits = decision == "approve"
    return DecisionAsked(
        decision=cast(Decision, decision),
        digest=form.get("digest", "")[:200] or "none",
        by=by,
        note=note,
        changes=changes_of(seen, form) or None if edits else None,
        result=note if decision in ("done", "happened") and note else None,
        grant_ms=_grant_ms(form) if edits else None,
        grant_only=[name.removeprefix(ONLY) for name in form if name.startswith(ONLY)] if edits else [],
    )


def _grant_ms(form: Form) -> int | None:
    asked = form.get("grant", "").strip()
    if not asked:
        return None
    if asked == THIS_RUN:
        return 0
    try:
        return parse_positive_duration(asked).milliseconds
    except ValueError as error:
        raise UsageError(str(error)) from None


def changes_of(seen: ApprovalDocument, form: Form) -> dict[str, Any]:
    """The arguments that somebody has changed or added. Raises UsageError."""
    before, found = _arguments(seen), {}
    for key, text in form.items():
        name = key.removeprefix(EDITED)
        if not key.startswith(EDITED) or (name not in before and not text.strip()):
            continue
        after = _meant(seen, name, text)
        if name not in before or after != before[name]:
            found[name] = after
    return found


def field_problem(seen: ApprovalDocument, form: Form, name: str) -> str:
    """Why what stands in one field would be refused; empty when it fits, or nothing says what fits."""
    text = form.get(f"{EDITED}{name}", "")
    before = _arguments(seen)
    if name not in before and not text.strip():
        return "it is needed" if name in (seen["parameters"] or {}).get("required", ()) else ""
    try:
        after = _meant(seen, name, text)
    except UsageError as error:
        return error.message
    whole = before | {name: after}
    problems = misfits(seen["parameters"] or {}, whole)
    own = [each for each in problems if each.startswith((f"{name}:", f"{name}/"))]
    return "; ".join(each.partition(": ")[2] for each in own)


def _meant(seen: ApprovalDocument, name: str, text: str) -> Any:
    before = _arguments(seen)
    try:
        if name in before:
            return changed_value(before[name], text)
        return new_value(_schema(seen).get(name), text)
    except ValueError:
        kind = _kind(before[name]) if name in before else "JSON"
        raise UsageError(f"{name} is not {kind}", hint="write it as it was before") from None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a number" if isinstance(value, int | float) else "JSON"


def _arguments(seen: ApprovalDocument) -> dict[str, Any]:
    return seen["arguments"] if isinstance(seen["arguments"], dict) else {}


def _schema(seen: ApprovalDocument) -> Mapping[str, Any]:
    known = (seen["parameters"] or {}).get("properties")
    return known if isinstance(known, dict) else {}
