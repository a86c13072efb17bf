"""The settings of conversations: which session a message goes to, who may send, resets, and queues."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from colleague.config.section import Int, Names, Positive, RenamedSection, Section, keys, part, works

Decision = Literal["allow", "deny"]
QueueMode = Literal["steer", "followup", "collect", "steer-backlog", "steer+backlog", "queue", "interrupt"]


class SendMatch(Section):
    channel: str | None = Field(default=None, description="The channel, such as slack.")
    chat_type: Literal["dm", "direct", "group", "channel"] | None = Field(
        default=None, description="The kind of chat."
    )
    key_prefix: str | None = Field(
        default=None, description="How the session's key begins, after agent:<id>:."
    )
    raw_key_prefix: str | None = Field(default=None, description="How the session's whole key begins.")


class SendRule(Section):
    match: SendMatch = part(SendMatch, description="The sessions it is about.")
    action: Decision = Field(description="Whether they may send.")


class SendPolicy(Section):
    default: Decision = works(default="allow", description="What holds when no rule matches.")
    rules: tuple[SendRule, ...] = works(default=(), description="Exceptions.")


class SessionReset(Section):
    mode: Literal["none", "daily", "idle"] = works(default="none", description="When a session starts anew.")
    at_hour: Annotated[Int, Field(le=23)] = works(default=4, description="The hour of a daily reset.")
    idle_minutes: Positive | None = works(default=None, description="Minutes of silence before a reset.")


class ResetByType(RenamedSection):
    renamed: ClassVar[Mapping[str, str]] = {"dm": "direct"}

    direct: SessionReset | None = Field(default=None, description="In direct messages.")
    group: SessionReset | None = Field(default=None, description="In groups.")
    thread: SessionReset | None = Field(default=None, description="In threads.")


class HistoryLimits(Section):
    direct: Positive | None = works(
        default=50, description="Turns a model sees of a direct chat; null is all."
    )
    group: Positive | None = works(default=50, description="Turns a model sees of a group; null is all.")
    channel: Positive | None = works(default=50, description="Turns a model sees of a channel; null is all.")


class PingPong(Section):
    max_ping_pong_turns: Int = works(
        default=5,
        description="How often an agent may answer back to another session before a person says something.",
    )


class SessionSettings(Section):
    approvals: Literal["park", "wait"] = works(
        default="park",
        description="What a question does to a conversation: it waits by itself while people go on talking,"
        " or the turn waits for it.",
    )
    passed_over = keys(
        "groupScope notifyOnCreate store mainKey maintenance typingIntervalSeconds typingMode sharing"
        " parentForkMaxTokens transcriptRetentionDays maxRecentTurns threadBindings writeLock"
    )

    scope: Literal["per-sender", "global"] = works(default="per-sender", description="Who shares a session.")
    dm_scope: Literal["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] = works(
        default="main", description="Which session a direct message goes to."
    )
    identity_links: Mapping[str, Names] = works(
        default_factory=dict, description="One person's names on several channels."
    )
    send_policy: SendPolicy = part(SendPolicy, description="Which sessions may send.")
    history_limits: HistoryLimits = part(HistoryLimits, description="How much of a chat a model sees.")
    reset: SessionReset = part(SessionReset, description="When sessions start anew.")
    reset_by_type: ResetByType = part(ResetByType, description="The same by kind of chat.")
    reset_by_channel: Mapping[str, SessionReset] = Field(
        default_factory=dict, description="The same by channel."
    )
    reset_triggers: Names = works(
        default=("/new", "/reset"), description="Messages that start a session anew."
    )
    idle_minutes: Positive | None = works(
        default=None, description="OpenClaw's older key for reset.idleMinutes."
    )
    agent_to_agent: PingPong = part(PingPong, description="Agents that talk to each other.")


class Queue(Section):
    passed_over = keys("debounceMsByChannel")

    mode: QueueMode = works(default="steer", description="What a message does that arrives during a turn.")
    by_channel: Mapping[str, QueueMode] = works(default_factory=dict, description="The same by channel.")
    debounce_ms: Int = works(default=1000, description="Milliseconds to wait for more messages.")
    cap: Positive = works(default=20, description="Messages that may wait.")
    drop: Literal["old", "new", "summarize"] = works(
        default="summarize", description="What happens beyond that."
    )
