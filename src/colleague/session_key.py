"""Session keys: read, built and checked in one place.

A key is `agent:<id>:` and then one of
`main`, `<channel>:<dm|group|channel>:<id>[:thread:<id>|:topic:<id>]`, `subagent:<id>`, `acp:<id>`,
`expert:<name>` and `expert:<name>:<process>:<run>`; a person's conversation with an expert over a channel is
`expert:<name>:<channel>:<person>`.

Imports nothing heavy, so that every room and the fast commands can use it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal

from colleague.errors import UsageError
from colleague.main_names import MAIN_AGENT
from colleague.plain_text import plain

Kind = Literal["main", "chat", "subagent", "acp", "expert", "expert_process"]
ChatType = Literal["dm", "group", "channel"]
ThreadKind = Literal["thread", "topic"]

MAX_KEY = 512
_CHAT_TYPES = {"dm": "dm", "direct": "dm", "group": "group", "channel": "channel"}
"""As they are written in keys; `direct` is OpenClaw's newer word for `dm`."""
_FIRST_WORDS = {"agent", "main", "subagent", "acp", "expert", "thread", "topic", *_CHAT_TYPES}
"""No channel and no account is called so: a key could be read in two ways."""
_PLAIN = ("agent_id", "channel", "child_id", "expert")
"""Fields that are words of ours, and never have to be escaped."""
_FORMS = (
    "a key is agent:<id>: and then main, <channel>:<dm|group|channel>:<id>, <the same>:thread:<id>, "
    "subagent:<id>, acp:<id> or expert:<name>"
)


class BadSessionKey(UsageError):
    """A text that is no session key."""


@dataclass(frozen=True)
class SessionKey:
    """Which conversation: `str(key)` is its one spelling, which `SessionKey.parse` reads back.

    The fields hold ids as their channel writes them; what cannot stand in a key (`:`, `/`, spaces, control
    characters) is escaped as in URLs. Raises BadSessionKey when a field cannot be in a key."""

    agent_id: str
    kind: Kind
    channel: str | None = None
    account_id: str | None = None
    chat_type: ChatType | None = None
    peer_id: str | None = None
    """The person, group or channel; the guild where there is a `room_id`."""
    room_id: str | None = None
    """The channel within the group, as on Discord."""
    thread_kind: ThreadKind | None = None
    thread_id: str | None = None
    child_id: str | None = None
    """Of a sub-agent or an ACP session."""
    expert: str | None = None
    process: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent_id", self.agent_id.casefold())
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None:
                _require_usable(each.name, value)
        if len(str(self)) > MAX_KEY:
            raise BadSessionKey(f"the session key is longer than {MAX_KEY} characters: {_quoted(str(self))}")

    def __str__(self) -> str:
        return f"agent:{_escaped(self.agent_id)}:{self.unscoped}"

    @property
    def unscoped(self) -> str:
        """The key without its agent: `telegram:dm:1`."""
        return ":".join(_escaped(each) for each in self._segments())

    @property
    def spellings(self) -> tuple[str, ...]:
        """What rows of this session may be stored under: earlier versions wrote no agent for experts."""
        return (str(self), self.unscoped) if self.agent_id == MAIN_AGENT else (str(self),)

    @property
    def is_of_expert(self) -> bool:
        return self.expert is not None

    @property
    def is_main(self) -> bool:
        return self.kind == "main"

    @property
    def is_subagent(self) -> bool:
        return self.kind == "subagent"

    @property
    def is_acp(self) -> bool:
        return self.kind == "acp"

    def thread_parent(self) -> SessionKey | None:
        """The chat that a thread or topic is in; None for what is no thread."""
        return replace(self, thread_kind=None, thread_id=None) if self.thread_id else None

    @classmethod
    def parse(cls, text: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        """Reads a key; one without `agent:<id>:` belongs to `agent`. Raises BadSessionKey."""
        return _parsed(text, agent)

    @classmethod
    def for_main(cls, agent: str = MAIN_AGENT) -> SessionKey:
        return cls(agent, "main")

    @classmethod
    def for_expert(cls, expert: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        """The session in which a person or an agent talks to an expert."""
        return cls(agent, "expert", expert=expert)

    @classmethod
    def for_process(cls, expert: str, process: str, run: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        """The session of one run of a process."""
        return cls(agent, "expert_process", expert=expert, process=process, run_id=run)

    @classmethod
    def for_expert_chat(cls, expert: str, channel: str, peer: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        """The conversation of one person with an expert."""
        return cls.for_process(expert, channel, peer, agent=agent)

    @classmethod
    def for_subagent(cls, child: str, *, agent: str = MAIN_AGENT) -> SessionKey:
        return cls(agent, "subagent", child_id=child)

    @classmethod
    def for_chat(
        cls,
        channel: str | None,
        chat_type: ChatType,
        peer: str,
        thread: str | None = None,
        *,
        agent: str = MAIN_AGENT,
        account: str | None = None,
        room: str | None = None,
        thread_kind: ThreadKind = "thread",
    ) -> SessionKey:
        """A chat on a channel; without a channel, a person's direct messages on all of them."""
        key = cls(
            agent,
            "chat",
            channel=channel,
            account_id=account,
            chat_type=chat_type,
            peer_id=peer,
            room_id=room,
            thread_kind=thread_kind if thread else None,
            thread_id=thread,
        )
        if cls.parse(str(key)) != key:
            raise BadSessionKey(f"{_quoted(str(key))} would be read as another session key", hint=_FORMS)
        return key

    def _segments(self) -> list[str]:
        if self.kind == "main":
            return ["main"]
        if self.kind in ("subagent", "acp"):
            return [self.kind, self.child_id or ""]
        if self.kind == "chat":
            return self._chat_segments()
        return [each for each in ("expert", self.expert, self.process, self.run_id) if each is not None]

    def _chat_segments(self) -> list[str]:
        room = ("channel", self.room_id) if self.room_id else ()
        thread = (self.thread_kind, self.thread_id) if self.thread_id else ()
        found = (self.channel, self.account_id, self.chat_type, self.peer_id, *room, *thread)
        return [each for each in found if each is not None]


def is_key(text: str) -> bool:
    """Whether this is a session key, with or without its agent."""
    try:
        SessionKey.parse(text)
    except BadSessionKey:
        return False
    return True


def _fields_of(segments: list[str]) -> dict[str, Any] | None:
    """The fields of a key without its agent; None when it has no known form."""
    match segments:
        case ["main"]:
            return {"kind": "main"}
        case ["subagent" | "acp" as kind, child]:
            return {"kind": kind, "child_id": child}
        case ["expert", name]:
            return {"kind": "expert", "expert": name}
        case ["expert", name, process, run]:
            return {"kind": "expert_process", "expert": name, "process": process, "run_id": run}
    return _chat_fields(segments)


def _chat_fields(segments: list[str]) -> dict[str, Any] | None:
    at = next((place for place, word in enumerate(segments[:3]) if word in _CHAT_TYPES), None)
    if at is None or len(segments) < at + 2 or _FIRST_WORDS & set(segments[:at]):
        return None
    chat_type, peer, rest = _CHAT_TYPES[segments[at]], segments[at + 1], segments[at + 2 :]
    if at == 0 and chat_type != "dm":
        return None
    found: dict[str, Any] = {"kind": "chat", "chat_type": chat_type, "peer_id": peer}
    found |= dict(zip(("channel", "account_id"), segments[:at], strict=False))
    if chat_type == "group" and len(rest) > 1 and rest[0] == "channel":
        found["room_id"], rest = rest[1], rest[2:]
    if len(rest) == 2 and rest[0] in ("thread", "topic"):
        found["thread_kind"], found["thread_id"], rest = rest[0], rest[1], []
    return None if rest else found


def _require_readable(text: str) -> None:
    """Of a key as somebody wrote it."""
    if not text.strip():
        raise BadSessionKey("the session key is empty", hint=_FORMS)
    if len(text) > MAX_KEY:
        raise BadSessionKey(f"the session key is longer than {MAX_KEY} characters: {_quoted(text)}")
    if not text.isprintable():
        raise BadSessionKey(f"the session key {_quoted(text)} has control characters", hint=_FORMS)
    if any(each.isspace() for each in text):
        raise BadSessionKey(f"the session key {_quoted(text)} has a space", hint="write %20 for a space")
    if ".." in text or "/" in text or "\\" in text:
        raise BadSessionKey(f"the session key {_quoted(text)} has a path in it", hint="write %2F for a slash")
    if "" in text.split(":"):
        raise BadSessionKey(f"the session key {_quoted(text)} has an empty part", hint=_FORMS)


@lru_cache(maxsize=1024)
def _parsed(text: str, agent: str) -> SessionKey:
    """A turn asks for the same key a dozen times."""
    _require_readable(text)
    segments = [_unescaped(each, text) for each in text.split(":")]
    if segments[0] == "agent" and len(segments) > 1:
        agent, segments = segments[1], segments[2:]
    found = _fields_of(segments)
    if found is None:
        raise BadSessionKey(f"{_quoted(text)} is no session key", hint=_FORMS)
    return SessionKey(agent, **found)


def _require_usable(field: str, value: str) -> None:
    name = field.replace("_", " ")
    if not value:
        raise BadSessionKey(f"the {name} of a session key is empty")
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise BadSessionKey(f"the {name} of a session key is no valid text: {_quoted(value)}")
    if field in _PLAIN and _escaped(value) != value:
        raise BadSessionKey(
            f"the {name} {_quoted(value)} cannot stand in a session key", hint="use letters, digits, - and _"
        )


def _escaped(text: str) -> str:
    """As in URLs, but only what would end a part, lead to another place or not be seen."""
    return "".join(each if _is_plain(each) else _percent(each) for each in text).replace("..", "%2E%2E")


def _is_plain(character: str) -> bool:
    return character.isprintable() and not character.isspace() and character not in ":/\\%"


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _unescaped(segment: str, text: str) -> str:
    if "%" not in segment:
        return segment
    from urllib.parse import unquote

    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise BadSessionKey(f"the session key {_quoted(text)} is not escaped as UTF-8") from None


def _quoted(text: str) -> str:
    cut = text if len(text) <= 60 else text[:57] + "..."
    return f"'{plain(cut)}'"
