"""Calls whose server answers with questions first (protocol 2026-07-28): asked one by one, then sent again.

What was asked and answered so far is JSON that the caller stores; nothing here needs the server to stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from colleague.mcp.elicitation import InputRequired, QuestionAnswer, ServerQuestion

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

MOST_ROUNDS = 10
_TOO_MANY = "the tool did not finish: it asked too many times"


class CannotAnswer(Exception):
    """The server wants what it cannot have; the sentence is for the model."""


def next_round(
    result: InputRequiredResult, rounds: int, roots: Sequence[str], *, sampling: bool = False
) -> dict[str, Any]:
    """What the server asked, as a document; `samples` are requests to a model, if those are allowed. Raises
    CannotAnswer."""
    if rounds >= MOST_ROUNDS:
        raise CannotAnswer(_TOO_MANY)
    open_ones: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    samples: dict[str, Any] = {}
    for key, request in (result.input_requests or {}).items():
        if request.method == "elicitation/create":
            open_ones[key] = request.params.model_dump(by_alias=True, mode="json", exclude_none=True)
        elif request.method == "roots/list":
            answers[key] = {"roots": [{"uri": each} for each in roots]}
        elif request.method == "sampling/createMessage" and sampling:
            samples[key] = request.params
        else:
            raise CannotAnswer(
                "the tool did not finish: it wants a model of ours, and the settings allow none"
            )
    document = {"state": result.request_state, "open": open_ones, "answers": answers, "rounds": rounds + 1}
    return {**document, "samples": samples}


def ask_next(document: dict[str, Any]) -> None:
    """Raises InputRequired for the first open question; what no person can be asked is cancelled."""
    for key, params in list(document["open"].items()):
        question = _question(params)
        if question is not None:
            raise InputRequired(question, json.dumps(document, ensure_ascii=False))
        document["answers"][key] = {"action": "cancel"}
        del document["open"][key]


def with_answer(document: dict[str, Any], answer: QuestionAnswer) -> dict[str, Any]:
    """The document after the first open question was answered."""
    key = next(iter(document["open"]))
    result = answer.result().model_dump(by_alias=True, mode="json", exclude_none=True)
    left = {name: each for name, each in document["open"].items() if name != key}
    return {**document, "open": left, "answers": {**document["answers"], key: result}}


def _question(params: dict[str, Any]) -> ServerQuestion | None:
    from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams
    from pydantic import ValidationError

    kind = ElicitRequestURLParams if params.get("mode") == "url" else ElicitRequestFormParams
    try:
        return ServerQuestion.read(kind.model_validate(params))
    except ValidationError:
        return None
