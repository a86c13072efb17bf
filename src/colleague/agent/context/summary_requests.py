"""The requests for a summary: asked, traced, stored and paid for like those of a turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from colleague.agent.budget_check import check_budget
from colleague.agent.model_request import ask_models
from colleague.agent.models.resolve import Routes
from colleague.agent.streaming.answer import AnswerReader

if TYPE_CHECKING:
    from colleague.agent.context.unit import Place
    from colleague.agent.models.reply import Reply
    from colleague.agent.models.request import ThinkRequest
    from colleague.agent.models.resolved import ResolvedModel
    from colleague.agent.session import Session


@dataclass
class SummaryRequests:
    """Asks the model for summaries, else those of the turn, under a name of their own beside the turn.
    What each answer cost is stored when it comes, whether it is of use or not."""

    aside: Session
    timeout_seconds: float

    @classmethod
    def of(cls, session: Session, place: Place) -> SummaryRequests:
        spec = session.run_spec
        routes = Routes((spec.summary_model,)) if spec.summary_model is not None else spec.routes
        aside = replace(
            session,
            conversation=session.conversation.side(f"compaction@{place[0]}.{place[1]}"),
            run_spec=replace(spec, routes=routes),
            reader=AnswerReader(),
        )
        return cls(aside, spec.context.compaction.timeout_seconds)

    @property
    def model(self) -> ResolvedModel:
        return self.aside.run_spec.routes.first

    async def ask(self, request: ThinkRequest) -> Reply:
        """Raises ModelFailure, or Failed without budget."""
        aside = self.aside
        await check_budget(aside)
        watched = replace(request, watch=aside.tracer.request(aside, request))
        reply = await ask_models(aside, watched, None, self._remaining)
        await aside.conversation.keep_request(reply)
        return reply

    def _remaining(self) -> float:
        limit = self.aside.run_spec.timeout_seconds
        left = float("inf") if limit is None else limit - self.aside.conversation.working_ms / 1000
        return min(left, self.timeout_seconds)
