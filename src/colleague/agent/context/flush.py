"""Before a conversation is shortened, the agent may write down what it wants to remember.

That is a conversation of its own beside the turn, which nobody sees: with the same messages, the tools for
files and memory, and no questions to people. It is kept like any other, so a crash does not repeat it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from colleague.agent.completion import TextCompletion
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.state import EarlierMessages
from colleague.agent.context.unit import ELSEWHERE, MessageUnit, Place
from colleague.agent.context.view import View
from colleague.agent.events import EventBus
from colleague.agent.exits import Completed, Failed, Waiting
from colleague.agent.gate import Gate, Verdict
from colleague.agent.render import attempt_failed
from colleague.agent.run_spec import NoRunEndHooks, RunSpec
from colleague.agent.session import Session
from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import Toolbox
from colleague.silent_answer import NO_REPLY
from colleague.store.ids import short
from colleague.store.run import Run

log = logging.getLogger(__name__)

TOOLS = ("read", "write", "edit", "ls", "find", "grep", "memory_search", "memory_get")
WRITES = "write"
MOST_TURNS = 8
PROMPT = (
    "[This conversation is about to be shortened. Before that, save what should be remembered for long and "
    "is written down nowhere yet: append it to memory/YYYY-MM-DD.md with the date of today (make the "
    "folder if needed). Do nothing else. When there is nothing to save, or when it is saved, answer "
    f"{NO_REPLY}.]"
)
NOT_NOW = "not while notes are saved: nobody is asked here"


@dataclass(frozen=True)
class FlushOpening:
    prompt: str

    async def first(self, run: Run) -> str:  # noqa: ARG002 - the same for every run
        return self.prompt

    async def again(self, run: Run, error: str) -> str:  # noqa: ARG002
        return f"{attempt_failed(error)}\n{self.prompt}"


@dataclass(frozen=True)
class UnaskedGate:
    """Allows what may be done without asking, and refuses all else."""

    gate: Gate

    def judge(self, spec: ToolSpec, arguments: dict[str, Any]) -> Verdict:
        verdict = self.gate.judge(spec, arguments)
        return verdict if verdict.kind in ("allow", "refuse") else Verdict("refuse", verdict.tier, NOT_NOW)


async def flush_memory(session: Session, view: View, place: Place) -> None:
    """Lets the agent save notes. Whatever goes wrong with that, the turn goes on."""
    from colleague.agent.loop import converse  # the loop fits what it sends, and fitting may loop

    run_spec = session.run_spec
    if not run_spec.context.flushes or run_spec.toolbox.get(WRITES) is None:
        return
    conversation = session.conversation.side(f"flush@{place[0]}.{place[1]}")
    unseen = EventBus()
    unseen.watch(session.tracer.on_event)
    aside = replace(session, conversation=conversation, run_spec=_run_spec(run_spec, view), bus=unseen)
    try:
        await converse(aside)
    except Completed:
        await conversation.keep()
    except (Failed, Waiting) as ending:
        log.warning("run %s saved no notes: %s", short(session.run_id), ending)


def _run_spec(run_spec: RunSpec, view: View) -> RunSpec:
    """Nothing of the turn but what was said, and never another flush."""
    asked = run_spec.context.compaction.memory_flush
    tools = [run_spec.toolbox.get(name) for name in TOOLS]
    calm = run_spec.context.compaction.model_copy(update={"enabled": False})

    async def said(_: Run) -> EarlierMessages:
        return EarlierMessages(_units(view))

    return replace(
        run_spec,
        system="\n\n".join(filter(None, (run_spec.system, asked.system_prompt))),
        toolbox=Toolbox([tool for tool in tools if tool is not None]),
        gate=UnaskedGate(run_spec.gate),
        context=ContextRules(run_spec.context.pruning, calm, run_spec.context.tool_result_max_chars),
        opening=FlushOpening(asked.prompt or PROMPT),
        completion=TextCompletion(),
        end_hooks=NoRunEndHooks(),
        history=said,
        max_turns=MOST_TURNS,
        steering=None,
        keeps=None,
        compacts=None,
        decided_call=None,
        hidden=True,
        parks=False,
    )


def _units(view: View) -> Sequence[MessageUnit]:
    """What is shown, as something that was said elsewhere."""
    return [MessageUnit.of((ELSEWHERE, 0), view.messages, opens=True)]
