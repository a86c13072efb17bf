"""A request of OpenAI's chat completions, and what it means here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from colleague.config import Settings
from colleague.gateway.api_error import ApiError
from colleague.main_names import MAIN_AGENT
from colleague.runtime.requests import MessageRequest
from colleague.session_key import SessionKey, is_key
from colleague.store.ids import new_id

CHANNEL = "openai"
AGENT, EXPERT = "agent:", "expert:"
Given = Annotated[str, Field(max_length=200)]


class ContentPart(BaseModel):
    """A piece of a message. Text and pictures are taken."""

    model_config = ConfigDict(extra="allow")

    type: str
    text: str = ""
    image_url: dict[str, Any] | None = None


class ChatMessage(BaseModel):
    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None

    @property
    def text_content(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(each.text for each in self.content if each.type == "text")

    @property
    def pictures(self) -> tuple[dict[str, Any], ...]:
        parts = self.content if isinstance(self.content, list) else []
        urls = [(each.image_url or {}).get("url") for each in parts if each.type == "image_url"]
        if any(not isinstance(url, str) or not url.startswith("data:") for url in urls):
            raise ApiError(400, "bad-request", "a picture is sent as a data: URL; none is fetched")
        return tuple({"name": f"picture-{number}", "url": url} for number, url in enumerate(urls, start=1))


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="allow")

    include_usage: bool = False


class ChatAsked(BaseModel):
    """What a model of OpenAI's would be told about sampling is not looked at."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=5000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Given | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None


@dataclass(frozen=True)
class ChatTurn:
    """Whom a request is for, and what is said. `expert` is empty for an agent."""

    session: str
    message: MessageRequest
    expert: str = ""

    @property
    def kept(self) -> bool:
        """Whether the session goes on after this request."""
        return not self.message.hidden

    @property
    def task(self) -> str:
        """All of it in one text, for an expert."""
        lines = [f"{role}: {text}" for role, text in self.message.earlier]
        before = "\n".join(["The conversation so far:", *lines, ""]) if lines else ""
        system = self.message.extra_system_prompt
        return "\n\n".join(each for each in (system, before.strip(), self.message.text) if each)


def read_turn(asked: ChatAsked, settings: Settings, session: str | None, repeat_key: str | None) -> ChatTurn:
    """What a request means. Raises ApiError and UsageError."""
    _require_possible(asked)
    agent, expert = _addressee(asked.model, settings)
    kept = session or (str(_session_of(asked.user, agent, expert)) if asked.user else "")
    _require_session_of(expert, session)
    name = kept or str(SessionKey.for_chat(CHANNEL, "dm", new_id(), agent=agent))
    last = max((place for place, each in enumerate(asked.messages) if each.role == "user"), default=-1)
    if last < 0 or not (asked.messages[last].text_content.strip() or asked.messages[last].pictures):
        raise ApiError(400, "bad-request", "there is no message with the role user, or it is empty")
    message = asked.messages[last]
    return ChatTurn(
        name,
        MessageRequest(
            text=message.text_content or "(a picture)",
            attachments=message.pictures,
            extra_system_prompt=_system(asked.messages),
            sender={"id": asked.user} if asked.user else {},
            earlier=() if kept else _earlier(asked.messages[:last]),
            hidden=not kept,
            dedupe_key=f"{CHANNEL}:{repeat_key}" if repeat_key else None,
        ),
        expert,
    )


def _require_possible(asked: ChatAsked) -> None:
    if asked.n not in (None, 1):
        raise ApiError(400, "bad-request", "n is 1: an agent answers once", more={"param": "n"})
    if asked.tools or asked.functions:
        message = "tools of the caller are not taken: an agent has its own, and its policy"
        raise ApiError(400, "bad-request", message, more={"param": "tools"})


def _addressee(model: str, settings: Settings) -> tuple[str, str]:
    """The agent, and the expert if it is one."""
    if model == MAIN_AGENT:
        return MAIN_AGENT, ""
    if model.startswith(EXPERT) and len(model) > len(EXPERT):
        return MAIN_AGENT, model[len(EXPERT) :]
    if model.startswith(AGENT) and len(model) > len(AGENT):
        agent = model[len(AGENT) :]
        settings.for_agent(agent)
        return agent, ""
    message = f"there is no model {model!r}; take main, agent:<id> or expert:<name> (GET /v1/models has them)"
    raise ApiError(404, "model_not_found", message, more={"param": "model"})


def _session_of(user: str, agent: str, expert: str) -> SessionKey:
    if expert:
        return SessionKey.for_expert_chat(expert, CHANNEL, user, agent=agent)
    return SessionKey.for_chat(CHANNEL, "dm", user, agent=agent)


def _require_session_of(expert: str, session: str | None) -> None:
    """A session that the caller names is one of the expert that it names."""
    if expert and session and (not is_key(session) or SessionKey.parse(session).expert != expert):
        message = f"{session!r} is no session of the expert {expert!r}; take expert:{expert}, or give a user"
        raise ApiError(400, "bad-request", message)


def _system(messages: list[ChatMessage]) -> str:
    return "\n\n".join(
        each.text_content for each in messages if each.role in ("system", "developer") and each.text_content
    )


def _earlier(messages: list[ChatMessage]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (each.role, each.text_content)
        for each in messages
        if each.role in ("user", "assistant") and each.text_content
    )
