"""Advancing a run: from the moment a worker takes it until it is done, waiting or retrying."""

from __future__ import annotations

import json
from dataclasses import dataclass

from colleague.agent.act import Scene
from colleague.agent.conversation import Conversation
from colleague.agent.ending import Completed, Failed, Waiting
from colleague.agent.events import Bus
from colleague.agent.loop import loop
from colleague.agent.models.connections import Connections
from colleague.agent.payload_log import PayloadLog
from colleague.agent.setting import Assembler, Setting
from colleague.errors import ColleagueError
from colleague.store.run import Run
from colleague.store.tx import Database
from colleague.store.work import Taken, finish, retry_later


@dataclass(frozen=True)
class Advancer:
    """Given to the worker, which knows nothing of agents."""

    database: Database
    assembler: Assembler
    bus: Bus
    connections: Connections
    payloads: PayloadLog = PayloadLog()

    async def __call__(self, taken: Taken) -> None:
        self.bus.tell("agent_start", taken.run.id, attempt=taken.run.attempt)
        setting: Setting | None = None
        try:
            if taken.poisonous:
                raise Failed("crashed the worker")
            setting = await self.assembler.assemble(taken.run)
            await self._converse(taken, setting)
        except Waiting:
            self.bus.tell("run_status", taken.run.id, status="waiting")
        except Completed as ending:
            text = ending.text
            await self.database.write(lambda tx: finish(tx, taken.hold, "completed", narrative=text))
            self._tell_end(taken.run, "completed", text)
        except Failed as ending:
            await self._fail(taken, setting, ending)
        except ColleagueError as error:
            hint = f" ({error.hint})" if error.hint else ""
            await self._fail(taken, setting, Failed(f"{error.message}{hint}", retry=False))

    async def _converse(self, taken: Taken, setting: Setting) -> None:
        conversation = Conversation(self.database, taken)
        if taken.hold.epoch > 1:  # nobody has had it before, so there is nothing to load
            await conversation.load()
        if conversation.is_empty:
            conversation.say(first_words(taken.run))
        elif conversation.attempt_is_new:
            conversation.say(again_words(await conversation.last_error()))
        await loop(Scene(conversation, setting, self.bus, self.payloads), self.connections)

    async def _fail(self, taken: Taken, setting: Setting | None, ending: Failed) -> None:
        """The next attempt continues the same transcript after a pause; after the last one the run ends."""
        run = taken.run
        retries = setting.retries if setting else None
        if ending.retry and retries and run.attempt < retries.max_attempts:
            pause = retries.pause_ms(run.attempt)
            await self.database.write(lambda tx: retry_later(tx, taken.hold, ending.error, pause))
            self.bus.tell("run_status", run.id, status="retrying", error=ending.error, in_ms=pause)
            return
        outcome = setting.on_failure if setting else "failed"
        await self.database.write(lambda tx: finish(tx, taken.hold, outcome, error=ending.error))
        self._tell_end(run, outcome, ending.error)

    def _tell_end(self, run: Run, outcome: str, text: str) -> None:
        self.bus.tell("run_status", run.id, status="done", outcome=outcome)
        self.bus.tell("agent_end", run.id, outcome=outcome, text=text)


def first_words(run: Run) -> str:
    inputs = json.loads(run.inputs)
    return str(inputs["message"]) if set(inputs) == {"message"} else json.dumps(inputs, ensure_ascii=False)


def again_words(error: str) -> str:
    return f"[The last attempt failed: {error}. Go on from where you were; what is done is done.]"
