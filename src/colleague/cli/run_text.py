"""A run's document as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from colleague.cli.output import CROSS, TICK, plain
from colleague.cli.times import moment
from colleague.cli.trouble_text import ahead_line, status_word, trouble_line
from colleague.cli.typed import with_home
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.run_document import (
    CallDocument,
    ModelRequestDocument,
    RunDocument,
    StepDocument,
    UsageDocument,
    short,
)

QUIET = ("mark_step", "complete")
REASON_CHARS = 200
RESULT_CHARS = 80
ARGUMENT_CHARS = 120
BESIDE_THE_TURN = {"flush": "of these to save notes", "compaction": "of these to shorten the conversation"}
MARKS = {"done": TICK, "skipped": "-", "failed": CROSS, "open": " "}


def run_lines(document: RunDocument) -> list[str]:
    """Everything, in the order in which a person asks for it."""
    return [
        *_head(document),
        *_attempts(document),
        *_steps(document),
        *_calls(document),
        *_refused(document),
        *_waits(document),
        *_delivery_lines(document),
        *_cost(document),
        *_result(document),
    ]


def _head(document: RunDocument) -> list[str]:
    state = status_word(document)
    what = f" ({document['process']})" if document["process"] else ""
    dry = ", a dry run" if document["dry_run"] else ", a rehearsal" if document["rehearsal"] else ""
    lines = [f"run {document['id']} of {document['expert']}{what}: {state}{dry}"]
    if document["error"]:
        lines.append(f"  error: {document['error']}")
    if cure := next_commands(document):
        lines.append(f"  next: {with_home(cure)}")
    if document["trouble"]:
        lines.append(f"  trouble: {trouble_line(document['trouble'])}")
    if document["inputs"]:
        lines.append(f"  inputs: {json.dumps(document['inputs'], ensure_ascii=False)[:300]}")
    if document["parent_run"]:
        lines.append(f"  handed over by run {short(document['parent_run'])}")
    if document["child_runs"]:
        lines.append(f"  handed over to: {', '.join(map(short, document['child_runs']))}")
    if origin := document["forked_from"]:
        lines.append(f"  forked from {short(origin['id'])}, step {origin['step']}")
    if document["forks"]:
        made = (f"{short(each['id'])} (step {each['step']})" for each in document["forks"])
        lines.append(f"  forks: {', '.join(made)}")
    if document["event_id"]:
        lines.append(f"  event: {document['event_id']}")
    return lines


def _attempts(document: RunDocument) -> Iterator[str]:
    for attempt in document["attempts"]:
        end = attempt["outcome"] or ("not at work" if document["status"] == "queued" else "under way")
        error = f": {attempt['error']}" if attempt["error"] else ""
        yield f"  attempt {attempt['number']}: {moment(attempt['started_at'])}, {end}{error}"


def _steps(document: RunDocument) -> Iterator[str]:
    for step in document["steps"]:
        yield f"  {MARKS[step['status']]} {step['number']}. {first_sentence(step['text'])}{_step_note(step)}"


def _step_note(step: StepDocument) -> str:
    if not step["note"]:
        return ""
    return f" (skipped: {step['note']})" if step["status"] == "skipped" else f" ({step['note']})"


def _calls(document: RunDocument) -> Iterator[str]:
    for call in document["calls"]:
        if call["operation"] in QUIET:
            continue
        arguments = _cut(json.dumps(call["arguments"], ensure_ascii=False), ARGUMENT_CHARS)
        inner = "  " if not call["session"].startswith(MAIN_TRANSCRIPT) else ""
        made = f" in run {short(call['taken_from'])}" if call["taken_from"] else ""
        yield f"  {inner}{call['operation']} ({call['tier']}) {arguments}: {_call_end(call, made)}"


def _call_end(call: CallDocument, made: str) -> str:
    """What became of a call, where, how long it took where that is worth a word, and with what result."""
    word = "failed" if call["is_error"] and call["status"] == "finished" else str(call["status"])
    result = plain(" ".join(((call["result"] or {}).get("text") or "").split()))
    told = f": {_cut(result, REASON_CHARS if call['is_error'] else RESULT_CHARS)}" if result else ""
    return f"{word.replace('_', ' ')}{made}{_duration(call)}{told}"


def _cut(text: str, most: int) -> str:
    return f"{text[:most]}{'…' * (len(text) > most)}"


def _duration(call: CallDocument) -> str:
    if not call["started_at"] or not call["ended_at"]:
        return ""
    began, ended = (datetime.fromisoformat(each) for each in (call["started_at"], call["ended_at"]))
    seconds = round((ended - began).total_seconds())
    return f" after {seconds} s" if seconds else ""


def _refused(document: RunDocument) -> Iterator[str]:
    """A run that completed although calls of it were refused says how many."""
    if document["outcome"] == "completed" and (text := refused_text(document)):
        yield f"  {text}"


def refused_text(document: RunDocument) -> str:
    """How many calls were refused; empty when none was."""
    own = [each for each in document["calls"] if not each["taken_from"]]
    refused = [each for each in own if each["status"] in ("refused", "not_run")]
    return f"{len(refused)} of its calls {'was' if len(refused) == 1 else 'were'} refused" if refused else ""


def _waits(document: RunDocument) -> Iterator[str]:
    if document["waiting_on"]:
        yield f"  waits for: {', '.join(map(short, document['waiting_on']))}"
    elif document["status"] == "waiting":
        yield "  waits for work that it handed over"
    if document["ahead"]:
        more = f" ({document['behind']} runs are before it)" if document["behind"] > 1 else ""
        yield f"  {ahead_line(document['ahead'])}{more}"
    if document["retry_at"]:
        yield f"  next attempt: {moment(document['retry_at'])}"


def _delivery_lines(document: RunDocument) -> Iterator[str]:
    delivery = document["delivery"]
    if delivery:
        error = f": {delivery['error']}" if delivery["error"] else ""
        when = f" {moment(delivery['at'])}" if delivery["at"] else ""
        yield f"  delivery to {delivery['channel']}: {delivery['status']}{when}{error}"
    for each in document["notices"]:
        what = each["body"].get("operation") or each["body"].get("reason") or ""
        yield f"  {each['kind']} to {each['channel']}: {each['status']} {what}".rstrip()
    sla = document["sla"]
    if sla:
        state = f"missed {moment(sla['at'])}" if sla["breached"] else "kept so far"
        yield f"  SLA {sla['limit']}: {state}"


def _cost(document: RunDocument) -> Iterator[str]:
    usage = document["usage"]
    tokens = f"{usage['input_tokens']} tokens in{_cached(usage)}, {usage['output_tokens']} out"
    yield f"  {tokens}, {usage['cost']:.4f} dollars"
    for name, what in BESIDE_THE_TURN.items():
        made = [each for each in document["model_requests"] if each["session"].startswith(f"{name}@")]
        if made:
            yield f"  {what}: {_requests_text(made)}"


def _requests_text(made: Sequence[ModelRequestDocument]) -> str:
    count = f"{len(made)} request{'s' if len(made) > 1 else ''}"
    tokens = [sum(each[key] or 0 for each in made) for key in ("input_tokens", "output_tokens")]
    cost = sum(each["cost"] or 0 for each in made)
    return f"{count}, {tokens[0]} tokens in, {tokens[1]} out, {cost:.4f} dollars"


def next_commands(document: RunDocument) -> str:
    """How a person goes on with an expert's run that ended badly; empty where there is nothing to do."""
    if document["kind"] != "expert" or document["dry_run"]:
        return ""
    ending = short(document["id"])
    if document["outcome"] == "dead_letter":
        return f"colleague deadletter retry {ending}, or colleague deadletter drop {ending}"
    return f"colleague run retry {ending}" if document["outcome"] in ("failed", "abandoned") else ""


def _cached(usage: UsageDocument) -> str:
    """How much of what went in was in the provider's cache, and how much was put there."""
    kinds = (("from", usage["cache_read_tokens"]), ("into", usage["cache_write_tokens"]))
    said = [f"{count} {word} the cache" for word, count in kinds if count]
    return f" ({', '.join(said)})" if said else ""


def usage_text(document: RunDocument) -> str:
    """What a run took; empty for one that asked no model."""
    usage = document["usage"]
    if not usage["input_tokens"] and not usage["output_tokens"]:
        return ""
    cost = f", {usage['cost']:.4f} dollars" if usage["cost"] else ""
    return f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out{cost}"


def _result(document: RunDocument) -> list[str]:
    lines = ["", document["narrative"]] if document["narrative"] else []
    if document["outputs"]:
        lines += ["", json.dumps(document["outputs"], indent=2, ensure_ascii=False)]
    return lines


def first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")[:110]
