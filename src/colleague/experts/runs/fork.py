"""A fork: a new run of the same work that begins at a step of an earlier one, with what that knew then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.agent.render import PERSON, is_edit
from colleague.errors import ColleagueError, UsageError
from colleague.experts.expert import Expert, find_expert
from colleague.experts.runs.invoke import isolated_session, process_parts
from colleague.experts.runs.opening import DRY
from colleague.experts.runs.preflight import Preflight
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.runs.tools.names import BEGIN_PROCESS, MARK_STEP
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.packages.package import Package
from colleague.packages.process import Process
from colleague.run_document import DryRun, short
from colleague.store.accept import Accepted, Arrival, accept
from colleague.store.approvals import approvals_of
from colleague.store.compactions import compaction_until
from colleague.store.forks import TAKEN_OVER, TakenOver, take_over
from colleague.store.journal import Call, Message, read_calls, read_messages
from colleague.store.run import Run, lock_run
from colleague.store.steps import StepMark, steps_of
from colleague.store.tx import Tx

FORK = "fork"
"""As the trigger of an event."""
SETTLED = ("done", "skipped")
MOST_NAMED = 110
"""Characters of a step in a sentence."""


class CannotFork(ColleagueError):
    """There is nothing to begin with at this step."""

    code = "cannot-fork"


@dataclass(frozen=True)
class Fork:
    """A run that is to begin at a step of another. Its package is the version that the other one has."""

    expert: Expert
    package: Package
    process: Process
    step: int
    by: str
    model: str
    dry_run: DryRun
    notice: str
    """What the model is told before it goes on, as a message is stored."""

    def start(self, tx: Tx, run_id: str) -> Accepted:
        """Accepts the new run with all that it takes over. The first run is locked while it is read, and is
        not changed."""
        run = lock_run(tx, run_id)
        if (run.digest, run.process) != (self.package.digest, self.process.name):
            raise CannotFork(f"run {short(run.id)} was changed meanwhile", hint="fork it once more")
        taken = taken_before(tx, run, self.step, starts_over=_starts_over(self.process, run))
        accepted = accept(tx, self._arrival(run))
        if self.step > 1:
            take_over(tx, str(accepted.run_id), self._with_notice(taken), reads=not self.dry_run)
        return accepted

    def _with_notice(self, taken: TakenOver) -> TakenOver:
        """The notice is the first message of the new run itself."""
        place = taken.messages[-1].position + 1
        said = Message(MAIN_TRANSCRIPT, place, self.notice, None, 1)
        return replace(taken, messages=[*taken.messages, said])

    def _arrival(self, run: Run) -> Arrival:
        about = {
            "run": run.id,
            "step": self.step,
            "by": self.by,
            "model": self.model,
            "dry_run": self.dry_run,
        }
        return Arrival(
            expert=run.expert,
            trigger=FORK,
            source=f"fork of run {short(run.id)} from step {self.step}, by {self.by}",
            payload=json.dumps({FORK: about}, ensure_ascii=False),
            session_key=isolated_session(self.expert, self.process),
            lane=None if self.dry_run else run.lane,
            inputs=run.inputs,
            version=run.version,
            digest=run.digest,
            model=self.model,
            dry_run=self.dry_run,
            forked_from=run.id,
            forked_step=self.step,
            **process_parts(self.process, self.package),
        )


def planned_fork(
    preflight: Preflight, run: Run, step: int, by: str, model: str = "", dry_run: DryRun = False
) -> Fork:
    """Raises ColleagueError when such a run would fail for a reason that is known already.

    A dry run has done nothing for real, so that its fork is one as well."""
    _require_process(run)
    expert = find_expert(preflight.home, run.expert)
    package = RunPackages(preflight.home).package(run.expert, run.digest)
    process = package.process(run.process)
    if process is None or not process.steps:
        raise _no_steps(run)
    _require_step(run, step, len(process.steps))
    chosen, dryness = model or run.model, _dryness(run, dry_run)
    preflight.check_expert(expert, package, process, chosen, dry_run=bool(dryness))
    return Fork(expert, package, process, step, by, chosen, dryness, _notice(step, dryness))


def _dryness(run: Run, asked: DryRun) -> DryRun:
    return "strict" if "strict" in (asked, run.dryness) else bool(asked or run.dry_run)


def _require_process(run: Run) -> None:
    if run.kind != "expert" or run.transcript is not None:
        raise CannotFork(
            f"run {short(run.id)} is a turn of a conversation, and has no step to begin at",
            hint="only runs of a process can be forked; say it again in the session instead",
        )
    if not run.process:
        raise _no_steps(run)


def _no_steps(run: Run) -> CannotFork:
    what = f"a run of {run.process}, which has no checklist" if run.process else "a free task"
    again = f"colleague expert run {run.expert}"
    return CannotFork(
        f"run {short(run.id)} is {what}: it has no step to begin at", hint=f"start it anew: {again}"
    )


def _require_step(run: Run, step: int, count: int) -> None:
    if not 1 <= step <= count:
        there = f"there are steps 1 to {count}" if count > 1 else "there is step 1 only"
        look = f"see them with: colleague run show {short(run.id)}"
        raise UsageError(f"run {short(run.id)} has no step {step}: {there}", hint=look)


def _starts_over(process: Process, run: Run) -> bool:
    return process.execution.idempotent and not run.took_over


def taken_before(tx: Tx, run: Run, step: int, *, starts_over: bool = False) -> TakenOver:
    """What a run knew when a step began. Raises CannotFork when it never did.

    A step begins with the call that settled the last of those before it."""
    again = starts_over and run.attempt > 1
    session = f"{MAIN_TRANSCRIPT}#{run.attempt}" if again else MAIN_TRANSCRIPT
    made = read_calls(tx, run.id, session)
    if step == 1:
        return TakenOver()
    reached = 1
    for call, marks in _marks(made):
        reached = max(reached, _reached(marks))
        if reached >= step:
            _require_same_checklist(run, steps_of(tx, run.id)[: step - 1], made)
            settled = [marks[number] for number in range(1, step)]
            edited = {each.call_id: each.decided_by for each in approvals_of(tx, run.id) if is_edit(each)}
            named = [_edited(each, edited) for each in made]
            shown = compaction_until(tx, f"{run.id}/{session}", call.position, call.ended_at or tx.now)
            taken = _until(call, read_messages(tx, run.id, session), named, settled)
            return replace(taken, compaction=shown)
    raise _never_reached(run, step, reached, steps_of(tx, run.id))


def _edited(call: Call, edited: dict[str | None, str | None]) -> Call:
    """The decision itself stays with the run that asked; that a person changed the arguments does not."""
    return replace(call, changed_by=f"{PERSON}{edited[call.id]}") if call.id in edited else call


def _marks(made: Sequence[Call]) -> Iterator[tuple[Call, dict[int, StepMark]]]:
    """The checklist after each call that changed it, until the first call that is not settled."""
    marks: dict[int, StepMark] = {}
    process = ""
    for call in made:
        if call.result is None:
            return
        if call.is_error or call.status != "finished" or call.operation not in (MARK_STEP, BEGIN_PROCESS):
            continue
        arguments = json.loads(call.arguments)
        if call.operation == BEGIN_PROCESS:
            marks = marks if arguments["process"] == process else {}
            process = arguments["process"]
            continue
        marks = marks | {int(arguments["step"]): _mark(call, arguments)}
        yield call, marks


def _mark(call: Call, arguments: dict[str, Any]) -> StepMark:
    number, note = int(arguments["step"]), arguments.get("note", "")
    return StepMark(number, "", arguments["status"], note, None, call.ended_at)


def _reached(marks: dict[int, StepMark]) -> int:
    """The first step that is not settled."""
    number = 1
    while number in marks and marks[number].status in SETTLED:
        number += 1
    return number


def _require_same_checklist(run: Run, stored: Sequence[StepMark], made: Sequence[Call]) -> None:
    """A version that came between two attempts may have numbered the steps otherwise."""
    *_, (_, last) = _marks(made)
    known = [(step.status, step.note) for step in stored]
    replayed = [(last[step.number].status, last[step.number].note) for step in stored if step.number in last]
    if known != replayed:
        raise CannotFork(
            f"the checklist of run {short(run.id)} changed between its attempts, so where its steps began is "
            "not known",
            hint=f"start it anew: colleague expert run {run.expert} --process {run.process}",
        )


def _never_reached(run: Run, step: int, reached: int, checklist: Sequence[StepMark]) -> CannotFork:
    text = next((each.text for each in checklist if each.number == reached), "")
    named = text.partition(". ")[0].rstrip(".")[:MOST_NAMED]
    return CannotFork(
        f"run {short(run.id)} never reached step {step}: the last one it reached is step {reached} ({named})",
        hint=f"begin there: colleague run fork {short(run.id)} --from-step {reached}",
    )


def _until(
    last: Call, messages: Sequence[Message], made: Sequence[Call], settled: Sequence[StepMark]
) -> TakenOver:
    """What stands before the end of a call. Calls that its answer asked for after it belong to the step."""
    place = last.position, last.place
    kept = [replace(each, attempt=TAKEN_OVER) for each in messages if each.position <= last.position]
    kept[-1] = replace(kept[-1], body=_cut_after(kept[-1].body, last.tool_call_id))
    return TakenOver(kept, [each for each in made if (each.position, each.place) <= place], settled)


def _cut_after(body: str, tool_call_id: str) -> str:
    """An answer without what it says and asks for after one of its calls: a call has no other result."""
    *before, answer = json.loads(body)
    ids = [part.get("tool_call_id") for part in answer["parts"]]
    parts = answer["parts"][: ids.index(tool_call_id) + 1]
    return json.dumps([*before, answer | {"parts": parts}], ensure_ascii=False, separators=(",", ":"))


def _notice(step: int, dry_run: DryRun) -> str:
    """Says what is otherwise than it was in the run before."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    from colleague.agent.models.messages import to_json

    text = (
        f"[The work is taken up again here, from step {step} on, in a run of its own. What was done before "
        "stays done. Files are as they are now: read again what may have changed.]"
    )
    said = f"{text}\n[{DRY}]" if dry_run else text
    return to_json([ModelRequest(parts=[UserPromptPart(content=said)])])
