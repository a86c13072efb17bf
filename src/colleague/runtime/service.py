"""What a person or a program can have done to a home. Two implementations give the same answers:

`runtime/local_service.py` works on the database in this process, `runtime/remote_service.py` asks the gateway
that holds the home. This module imports neither, so a command that asks a gateway stays quick."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from colleague.person_document import ApprovalLink
from colleague.run_document import ApprovalDocument, RunDocument, RunHeading
from colleague.run_event import RunEvent
from colleague.runtime.admin_service import AdminService
from colleague.runtime.expert_service import ExpertService
from colleague.runtime.requests import (
    AcceptedEvent,
    DecisionAnswer,
    DecisionRequest,
    ForkRequest,
    MessageRequest,
    RunRequest,
    SentMessage,
)
from colleague.session_document import (
    ArchiveDocument,
    HitDocument,
    ItemDocument,
    PromptDocument,
    PromptMode,
    SessionDocument,
    StoppedDocument,
)
from colleague.session_event import SessionEvent
from colleague.tool_document import ToolDocument

if TYPE_CHECKING:
    from colleague.agent.models.profile_report import ProfileDocument


class RunService(Protocol):
    """Beginning runs and following them: what a command needs until it can say which run it has begun.

    Ids may be any unique ending of at least four characters. Raises ColleagueError with a sentence."""

    async def start(self, asked: RunRequest) -> AcceptedEvent:
        """A free task, or a named process with its inputs."""
        ...

    async def say(self, message: str, *, model: str = "") -> AcceptedEvent:
        """One turn of the main agent."""
        ...

    async def send(self, session: str, message: MessageRequest) -> SentMessage:
        """Says something to a session, by key or label; a session that is not there is made."""
        ...

    async def event(self, event: str) -> dict[str, Any]:
        """What became of an event: accepted, run and delivered."""
        ...

    async def run(self, run: str) -> RunDocument:
        """Everything about one run."""
        ...

    async def heading(self, run: str) -> RunHeading:
        """What the first line says of a run; quicker than all of it."""
        ...

    def follow(self, runs: Sequence[str]) -> AsyncGenerator[RunEvent]:
        """What happens in these runs, one run after another, until each is done or waits for a person.

        Begins with what has happened already."""
        ...

    async def read(self, delivery: str, by: str) -> bool:
        """Somebody has read it. False when somebody had before, or it goes to another place."""
        ...

    async def approval(self, approval: str) -> ApprovalDocument:
        """One question, and how it was decided."""
        ...

    async def pending(self) -> list[ApprovalDocument]:
        """The questions that wait for a person, the oldest first; the first 200 of them."""
        ...

    def whole(self) -> Service:
        """All that can be done, on the same home. Without a gateway most of it is imported only then."""
        ...


class Service(RunService, AdminService, ExpertService, Protocol):
    """Everything. Raises ColleagueError with a sentence."""

    async def decide(self, requests: Sequence[DecisionRequest]) -> list[DecisionAnswer]:
        """Each is answered by itself, in order; one that does not count disturbs no other."""
        ...

    async def sessions(self, *, limit: int = 200, after: str | None = None) -> list[SessionDocument]:
        """The one that was last at work first."""
        ...

    async def session(self, session: str) -> SessionDocument:
        """The main session of an agent is always there."""
        ...

    async def prompt(self, session: str, mode: PromptMode | None = None) -> PromptDocument:
        """The system prompt that the next turn of a session would have, in its own mode or in another."""
        ...

    async def tools(self, session: str) -> list[ToolDocument]:
        """Every tool that the next turn of a session could have: offered or not, and which layer decided."""
        ...

    async def tool(self, session: str, name: str) -> ToolDocument:
        """One of them, with what each layer says of it."""
        ...

    async def change_session(self, session: str, changes: dict[str, Any]) -> SessionDocument:
        """Sets label, model, thinking, reasoning, verbose, send_policy, queue_mode; None clears."""
        ...

    async def stop_session(self, session: str, by: str) -> StoppedDocument:
        """Ends the turn at work, and what waits behind it."""
        ...

    async def reset_session(self, session: str, by: str) -> SessionDocument:
        """Begins another transcript; the one before stays as an archive."""
        ...

    async def compact_session(self, session: str, instructions: str) -> SentMessage:
        """Starts a turn that shortens what the model sees; `instructions` say what must stay."""
        ...

    async def items(
        self, session: str, *, after: int = 0, limit: int = 200, archive: str | None = None
    ) -> list[ItemDocument]:
        """What was said, the oldest first; of the transcript in use, or of an archive."""
        ...

    async def archives(self, session: str) -> list[ArchiveDocument]:
        """Transcripts that a reset has ended, the latest first."""
        ...

    async def search(self, text: str, *, session: str | None = None, limit: int = 20) -> list[HitDocument]:
        """Where all of these words were said, the newest first; in one session or in all, archives too."""
        ...

    def watch_session(self, session: str, after: int | None = None) -> AsyncGenerator[SessionEvent]:
        """What happens in a session until the generator is closed: from now on, or from a position on.

        Begins with how the session stands."""
        ...

    async def fire(self, expert: str, trigger: str, payload: Any) -> AcceptedEvent:
        """An event by hand, in the way a real one takes."""
        ...

    async def pause(self, expert: str, trigger: str, by: str) -> bool:
        """False when it was paused already."""
        ...

    async def resume(self, expert: str, trigger: str) -> int | None:
        """How many held events were released; None when it was not paused."""
        ...

    async def cancel(self, run: str, reason: str) -> bool:
        """False when it had ended already."""
        ...

    async def retry(self, run: str, changes: dict[str, Any] | None = None) -> str:
        """Begins the next attempt of a run that ended badly; its whole id."""
        ...

    async def fork(self, asked: ForkRequest) -> AcceptedEvent:
        """Begins a new run at a step of an earlier one, which stays as it is."""
        ...

    async def resume_run(self, run: str) -> bool:
        """Ends the pause before the next attempt. False when the run does not pause."""
        ...

    async def drop(self, run: str, by: str) -> None:
        """Lets a dead letter be."""
        ...

    async def restore(self, expert: str, file: str, version: int) -> dict[str, Any]:
        """Puts a version of a file back; its path, and the number that this text has now."""
        ...

    async def accept_server(self, name: str, digest: str, by: str) -> None:
        """The MCP server may be started; `digest` is of the entry that the person looked at."""
        ...

    async def revoke(self, grant: str) -> None:
        """Ends a grant."""
        ...

    async def remove_canvas(self, canvas: str) -> None:
        """Removes something that an agent showed, with all its versions."""
        ...

    async def auth_profiles(self, agent: str) -> list[ProfileDocument]:
        """The keys of providers, as whoever works on runs has them, in the order they are tried."""
        ...

    async def order_auth_profiles(
        self, agent: str, provider: str, profiles: Sequence[str]
    ) -> list[ProfileDocument]:
        """Sets the order of one provider's profiles, all of them then; none: the settings decide again."""
        ...

    async def clear_cooldowns(self, profiles: Sequence[str]) -> list[str]:
        """Lets these profiles, or all, be tried at once; the names of those that were at rest."""
        ...

    async def forget_auth_profile(self, profile: str) -> None:
        """Its statistics go."""
        ...

    async def approval_link(self, approval: str, person: str, lasts_ms: int) -> ApprovalLink:
        """A link that decides one question, once, in this person's name."""
        ...

    async def problems(self) -> list[str]:
        """What a person should look at, in sentences."""
        ...
