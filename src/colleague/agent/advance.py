"""Advancing a run: from the moment a worker takes it until it is done, waiting or retrying."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from functools import partial

from colleague.agent.conversation import Conversation
from colleague.agent.events import EventBus
from colleague.agent.exits import Completed, Failed, Waiting
from colleague.agent.hook_points import about_run, tell_answered, with_agent_start
from colleague.agent.loop import converse, remaining_seconds, too_long
from colleague.agent.models.connections import Connections
from colleague.agent.run_spec import Assembler, CannotAssemble, Retries, RunEndHooks, RunSpec
from colleague.agent.session import Session
from colleague.agent.streaming.answer import without_tags
from colleague.agent.tracing.tracer import Tracer
from colleague.errors import ColleagueError
from colleague.failpoints import failpoint
from colleague.files import OWNER_HINT
from colleague.hooks.events import AgentEnded, BeforeAgentStart, MessageDelivered
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.shortage import raise_shortage
from colleague.silent_answer import shown_answer
from colleague.store.cancel import close_calls, start_over
from colleague.store.claims import Taken, end_run, retry_later
from colleague.store.run import Outcome, Run, fenced
from colleague.store.tx import Database, Fenced, Tx
from colleague.store.worker import is_outside_trouble

log = logging.getLogger(__name__)

_OUR_ERROR = CannotAssemble("", retries=Retries(max_attempts=3), on_failure="dead_letter")
"""What an error in our own code means for a run, whose own policy is not known then."""


@dataclass(frozen=True)
class Advancer:
    """Advances runs for the worker, which knows nothing of agents."""

    database: Database
    assembler: Assembler
    bus: EventBus
    connections: Connections
    tracer: Tracer = field(default_factory=Tracer)
    hooks: PluginHooks = NO_HOOKS

    async def __call__(self, taken: Taken) -> None:
        with self.tracer.run(taken.run):
            await self._advance(taken)

    async def _advance(self, taken: Taken) -> None:
        self.bus.tell("agent_start", taken.run.id, attempt=taken.run.attempt)
        try:
            run_spec = await self.assembler.assemble(taken.run)
        except CannotAssemble as error:
            raise_shortage(error)
            await self._fail(taken, error, Failed(error.sentence, retry=error.retry))
            return
        except ColleagueError as error:
            raise_shortage(error)
            await self._fail(taken, CannotAssemble(""), Failed(error.sentence, retry=False))
            return
        except Exception as error:
            if isinstance(error, Fenced) or is_outside_trouble(error):
                raise
            log.exception("run %s could not be prepared", taken.run.id)
            await self._fail(taken, _OUR_ERROR, Failed(_unprepared(error)))
            return
        await self._work(taken, run_spec)

    async def _work(self, taken: Taken, run_spec: RunSpec) -> None:
        session = self._session(taken, run_spec)
        self.tracer.joins(session)
        try:
            if taken.poisonous:
                raise Failed("crashed the worker")
            # nobody has had it before the first take, so there is nothing to load but what a fork took over
            begun = taken.hold.epoch > 1 or taken.run.took_over
            if self.hooks.has(BeforeAgentStart.hook):
                session = await with_agent_start(session, begun=begun)
            await _converse_in_time(session, begun=begun)
        except Completed as ending:
            await self._complete(session, ending)
        except Waiting:
            self.bus.tell("run_status", taken.run.id, status="waiting")
        except Failed as ending:
            error = run_spec.private.redact(ending.error)
            await self._fail(taken, run_spec, Failed(error, retry=ending.retry, kind=ending.kind))
        except ColleagueError as error:
            raise_shortage(error)
            await self._fail(taken, run_spec, Failed(run_spec.private.redact(error.sentence), retry=False))
        finally:
            session.conversation.let_go()

    def _session(self, taken: Taken, run_spec: RunSpec) -> Session:
        again = run_spec.starts_over and taken.run.attempt > 1
        name = f"{MAIN_TRANSCRIPT}#{taken.run.attempt}" if again else MAIN_TRANSCRIPT
        conversation = Conversation(
            self.database,
            taken,
            name,
            redact=run_spec.private.redact,
            hidden=run_spec.hidden,
            chat=run_spec.chat,
        )
        if self.hooks.has(MessageDelivered.hook):
            conversation.on_shown = partial(tell_answered, self.hooks, taken.run)
        return Session(conversation, run_spec, self.bus, self.connections, self.tracer, self.hooks)

    async def _complete(self, session: Session, ending: Completed) -> None:
        """The last answer and the end of the run are one commit."""
        conversation, run_spec = session.conversation, session.run_spec
        text = run_spec.private.redact(conversation.sent_text or without_tags(ending.text))
        outputs = run_spec.private.redact_document(ending.outputs)
        end_hooks = await run_spec.end_hooks.prepared(conversation.run, text, outputs)

        def work(tx: Tx) -> None:
            held = fenced(tx, conversation.hold, lane=True)
            conversation.keep_in(tx)
            stored = None if outputs is None else json.dumps(outputs, ensure_ascii=False)
            end_hooks.completed(tx, held, text, outputs)
            end_run(tx, held, "completed", narrative=text, outputs=stored)

        await conversation.write_with_retries(work)
        failpoint("run.completed")
        await self._tell_end(end_hooks, conversation.run, "completed", shown_answer(text).text)

    async def _fail(self, taken: Taken, about: RunSpec | CannotAssemble, ending: Failed) -> None:
        """The next attempt continues after a pause; after the last one the run ends."""
        run, retries = taken.run, about.retries
        if ending.retry and run.attempt < retries.max_attempts:
            pause = retries.pause_ms(run.attempt)
            fresh = about.starts_over
            await self.database.write(lambda tx: _retry(tx, taken, ending.error, pause, fresh=fresh))
            self.bus.tell("run_status", run.id, status="retrying", error=ending.error, in_ms=pause)
            return
        outcome = about.on_failure

        def work(tx: Tx) -> None:
            held = fenced(tx, taken.hold, lane=True)
            close_calls(tx, held, ending.error)
            about.end_hooks.failed(tx, held, outcome, ending.error)
            end_run(tx, held, outcome, error=ending.error, error_kind=ending.kind or None)

        await self.database.write(work)
        failpoint("run.failed")
        await self._tell_end(about.end_hooks, run, outcome, ending.error)

    async def _tell_end(self, end_hooks: RunEndHooks, run: Run, outcome: Outcome, text: str) -> None:
        """What cannot be tidied up now is left for the next start; the end is told all the same."""
        try:
            await end_hooks.cleanup(run, outcome)
        finally:
            self.bus.tell("run_status", run.id, status="done", outcome=outcome)
            self.bus.tell("agent_end", run.id, outcome=outcome, text=text)
            if self.hooks.has(AgentEnded.hook):
                self.hooks.tell(AgentEnded(**about_run(run), outcome=outcome, text=text))


async def _converse_in_time(session: Session, *, begun: bool) -> None:
    """Works within the time that is left; what is under way then has no definite end."""
    left = remaining_seconds(session)
    limit = asyncio.timeout(None if left == float("inf") else max(left, 0))
    try:
        async with limit:
            await converse(session, begun=begun)
    except TimeoutError:
        if not limit.expired():
            raise
        raise Failed(too_long(session.run_spec)) from None


def _unprepared(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        cure = f" ({OWNER_HINT})" if isinstance(error, PermissionError) else ""
        return f"it could not be prepared: {error.filename}: {error.strerror}{cure}"
    return f"it could not be prepared, by an error of Colleague itself ({type(error).__name__}); see the log"


def _retry(tx: Tx, taken: Taken, error: str, pause: int, *, fresh: bool) -> None:
    retry_later(tx, taken.hold, error, pause)
    if fresh:
        start_over(tx, taken.run, "the next attempt starts again from the first step")
