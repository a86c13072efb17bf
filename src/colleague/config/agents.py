"""The `agents` section of the settings."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from colleague import duration
from colleague.config.sandbox import Sandbox
from colleague.config.section import (
    Duration,
    Flag,
    FreeForm,
    Int,
    Names,
    PathText,
    Positive,
    Ratio,
    RenamedSection,
    Section,
    ToolProfile,
    duration_schema,
    keys,
    part,
    works,
)
from colleague.config.tool_lists import ToolLists
from colleague.main_names import MAIN_AGENT

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|[smhd])?")
_DURATIONS = re.compile(r"[0-9]{1,9}|(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ms|[smhd])){1,5}")


Level = Literal["off", "low", "medium", "high"]
AnyLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra"]

NEAREST_LEVEL: Mapping[str, Level] = {
    "off": "off",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "minimal": "low",
    "adaptive": "medium",
    "xhigh": "high",
    "max": "high",
    "ultra": "high",
}


def _openclaw_duration(value: object) -> object:
    """OpenClaw also writes 90 (for minutes), 500ms and 1h30m; here they become seconds."""
    if not isinstance(value, str) or not _DURATIONS.fullmatch(value):
        return value
    parts = [(float(number), _SECONDS[unit or "m"]) for number, unit in _DURATION.findall(value)]
    return f"{math.ceil(sum(number * seconds for number, seconds in parts))}s"


def _as_choice(value: object) -> object:
    if isinstance(value, str):
        return {"primary": value}
    if not isinstance(value, dict | ModelPair):
        raise ValueError('it takes a model such as "provider/model", or { primary, fallbacks }')
    return value


Interval = Annotated[
    duration.Duration, duration_schema(duration.parse_duration), BeforeValidator(_openclaw_duration)
]


class ModelPair(Section):
    passed_over = keys("timeoutMs")

    primary: str | None = works(default=None, description="The model, as provider/model.")
    fallbacks: Names = works(default=(), description="Models to try in turn when it fails.")


ModelChoice = Annotated[ModelPair, BeforeValidator(_as_choice)]


class ModelAlias(Section):
    passed_over = keys("agentRuntime codeMode")

    alias: str | None = works(default=None, description="A short name for the model.")
    params: FreeForm = works(default_factory=dict, description="Parameters sent with each request.")
    streaming: Flag = works(
        default=True, description="Whether its answers are streamed; false: each comes in one piece."
    )


class ThinkingBudget(Section):
    low: Positive = works(default=2048, description="Thinking tokens at level low.")
    medium: Positive = works(default=8192, description="Thinking tokens at level medium.")
    high: Positive = works(default=32768, description="Thinking tokens at level high.")


class ThinkingSettings(Section):
    level: Level = works(default="medium", description="How long a model may think before it answers.")
    budget: ThinkingBudget = part(ThinkingBudget, description="Tokens for each level.")


class ToolPolicy(ToolLists):
    profile: ToolProfile | None = works(
        default=None, description="The set of tools to start from: minimal, coding, messaging or full."
    )


class ToolLayer(Section):
    tools: ToolLists = part(ToolLists, description="What these sessions may use.")


class SubagentChoice(Section):
    passed_over = keys("delegationMode")

    allow_agents: Names = works(
        default=(),
        description='Agents it may spawn; "*" is any, none is only itself.',
    )
    model: ModelChoice | None = Field(default=None, description="The model of spawned agents.")
    thinking: str | None = works(default=None, description="The thinking level of spawned agents.")
    require_agent_id: Flag = works(default=False, description="Whether a spawn must name the agent.")


class Subagents(SubagentChoice):
    max_spawn_depth: Annotated[Positive, Field(le=5)] = works(
        default=1, description="How deep spawning may nest."
    )
    max_children_per_agent: Annotated[Positive, Field(le=20)] = works(
        default=5, description="Running children of one session."
    )
    max_concurrent: Positive = works(default=8, description="Spawned agents that run at once.")
    run_timeout_seconds: Int = works(default=0, description="Seconds a spawned agent may run; 0 is no limit.")
    announce_timeout_ms: Positive = works(
        default=120_000, description="Milliseconds to deliver a child's answer."
    )
    archive_after_minutes: Int = works(
        default=60, description="Minutes until a done child is archived; 0 never."
    )


class HardClear(Section):
    enabled: Flag = works(
        default=True, description="Whether whole results are cleared when cutting is not enough."
    )
    placeholder: str = works(
        default="[Old result cleared; call the tool again if it is needed.]",
        description="What stands in the place of a cleared result.",
    )


class PrunableTools(Section):
    allow: Names = works(default=(), description="Their names, with * for any text; empty means all.")
    deny: Names = works(default=(), description="Tools whose results stay whole; wins over allow.")


class ContextPruning(Section):
    passed_over = keys("keepLastAssistants softTrimRatio softTrim")

    mode: Literal["off", "cache-ttl", "aggressive"] = works(
        default="off", description="When old tool results are cut."
    )
    ttl: Annotated[Duration, BeforeValidator(_openclaw_duration)] = works(
        default=duration.parse_duration("300s"),
        description="With cache-ttl: how long the provider's cache counts as fresh.",
    )
    max_chars_per_tool_result: Positive = works(
        default=2000, description="Characters that stay of an old result."
    )
    tool_result_head_ratio: Ratio = works(
        default=0.6, description="The part of them taken from its beginning."
    )
    prune_after_turns: Int = works(default=10, description="Results of the last answers that stay whole.")
    hard_clear_ratio: Ratio = works(
        default=0.5,
        description="The part of the window over which old results are cleared, the oldest first.",
    )
    min_prunable_tool_chars: Int = works(
        default=50_000, description="Characters of old results below which none is cleared."
    )
    hard_clear: HardClear = part(HardClear, description="Clearing old results.")
    tools: PrunableTools = part(PrunableTools, description="Tools whose results may be cut.")


class ContextLimits(Section):
    passed_over = keys("memoryGetDefaultLines postCompactionMaxChars")

    tool_result_max_chars: Positive = works(
        default=100_000, description="Characters kept of one tool result; at most a third of the window."
    )
    memory_get_max_chars: Positive = works(default=12_000, description="Characters memory_get returns.")


class MemoryFlush(Section):
    passed_over = keys("forceFlushTranscriptBytes model")

    enabled: Flag = works(default=True, description="Whether the agent saves notes before a compaction.")
    soft_threshold_tokens: Int = works(default=4000, description="Tokens before the limit at which it does.")
    prompt: str | None = works(default=None, description="What the agent is asked then.")
    system_prompt: str | None = works(default=None, description="Added to the system prompt then.")


class CompactionSettings(Section):
    passed_over = keys(
        "mode provider thinkingLevel reserveTokensFloor maxHistoryShare customInstructions identifierPolicy"
        " identifierInstructions recentTurnsPreserve qualityGuard midTurnPrecheck postIndexSync notifyUser"
        " postCompactionSections maxActiveTranscriptBytes truncateAfterCompaction"
    )

    enabled: Flag = works(
        default=True, description="Whether old turns are summarised when the context fills."
    )
    reserve_tokens: Int = works(
        default=20_000, description="Tokens kept free for the answer; at most a quarter of the window."
    )
    keep_recent_tokens: Positive = works(
        default=20_000, description="Tokens of recent turns kept word for word; at most half of the window."
    )
    max_retries: Int = works(default=3, description="Tries to get a summary.")
    timeout_seconds: Positive = works(default=180, description="Seconds one summary may take.")
    model: str | None = works(
        default=None, description="The model that summarises; the session's when not set."
    )
    memory_flush: MemoryFlush = part(MemoryFlush, description="Notes before it happens.")


class BlockChunk(Section):
    min_chars: Positive = works(
        default=200, description="A block is not sent before it has this many characters."
    )
    max_chars: Positive = works(default=1200, description="A block is cut at this many characters.")
    break_preference: Literal["paragraph", "newline", "sentence"] = works(
        default="paragraph", description="Where a block is cut if it can be."
    )


class BlockCoalesce(Section):
    min_chars: Positive | None = works(default=None, description="Small blocks are joined up to this size.")
    max_chars: Positive | None = works(default=None, description="Joined blocks do not grow past this size.")
    idle_ms: Int = works(default=1000, description="Milliseconds of silence after which a block is sent.")


class Heartbeat(Section):
    passed_over = keys(
        "activeHours session directPolicy to accountId timeoutSeconds lightContext isolatedSession agentId"
        " suppressToolErrorWarnings includeReasoning"
    )

    every: Interval = works(
        default=duration.parse_duration("0s"),
        description="How often the main agent reads HEARTBEAT.md; 0s is never.",
    )
    prompt: str | None = works(default=None, description="What it is asked then.")
    model: str | None = works(default=None, description="The model for it.")
    target: str = works(
        default="last", description="Where its answer is shown: none is nowhere, all else the main session."
    )
    ack_max_chars: Int = works(
        default=30, description="An answer no longer than this after HEARTBEAT_OK is dropped."
    )


class MemorySearch(Section):
    passed_over = keys(
        "sources experimental provider remote fallback model dimensions outputDimensionality local store"
        " chunking sync query cache qmd multimodal rememberAcrossConversations inputType queryInputType"
        " documentInputType"
    )

    enabled: Flag = works(default=True, description="Whether agents have memory_search and memory_get.")
    extra_paths: tuple[PathText, ...] = works(
        default=(), description="More folders or files to search: absolute, or from the workspace."
    )


class ModelRequests(Section):
    idle_timeout_seconds: Int = works(
        default=120,
        description="Seconds without a byte from a model after which the request is given up and made again;"
        " 0 leaves only the time of the whole request.",
    )


class AgentDefaults(RenamedSection):
    renamed: ClassVar[Mapping[str, str]] = {"subagent": "subagents"}
    passed_over = keys(
        "imageGenerationModel videoGenerationModel musicGenerationModel mediaModels pdfModel pdfMaxBytesMb"
        " pdfMaxMb pdfMaxPages utilityModel modelPolicy modelSelectionScope params embeddedHarness embeddedPi"
        " embeddedAgent cliBackends agentRuntime cwd skipOptionalBootstrapFiles contextInjection"
        " bootstrapPromptTruncationWarning envelopeTimezone envelopeTimestamp envelopeElapsed contextTokens"
        " elevatedDefault toolProgressDetail fastModeDefault humanDelay mediaMaxMb"
        " imageMaxDimensionPx imageQuality typingIntervalSeconds typingMode startupContext experimental"
        " silentReply silentReplyRewrite systemAgent authInheritance sessionStore runRetries memory tts"
        " groupChat promptOverlays"
    )

    workspace: PathText | None = works(
        default=None,
        description="Where AGENTS.md and the other bootstrap files are; <home>/workspace when not set.",
    )
    model: ModelChoice | None = Field(default=None, description="The model, or {primary, fallbacks}.")
    image_model: ModelChoice | None = Field(
        default=None, description="The model that looks at images; the agent's own when not set, if it can."
    )
    models: Mapping[str, ModelAlias] = Field(
        default_factory=dict, description="Aliases and parameters by provider/model."
    )
    repo_root: PathText | None = works(default=None, description="The repository named in the prompt.")
    skip_bootstrap: Flag = works(default=False, description="Do not create missing bootstrap files.")
    bootstrap_max_chars: Positive = works(
        default=12_000,
        description="Characters of one bootstrap file in the prompt; more are cut in the middle.",
    )
    bootstrap_total_max_chars: Positive = works(
        default=60_000, description="Characters of all bootstrap files; the later ones are cut or left out."
    )
    additional_system_prompt: str | None = works(
        default=None, description="Added to the system prompts of agents and sub-agents."
    )
    user_timezone: str | None = works(
        default=None, description="The user's time zone; the machine's when not set."
    )
    time_format: Literal["auto", "12", "24"] = works(default="auto", description="How times are written.")
    skills: Names | None = works(default=None, description="Skills the agents may use; all when not set.")
    thinking: ThinkingSettings = part(ThinkingSettings, description="Extended thinking.")
    thinking_default: AnyLevel | None = works(
        default=None, description="OpenClaw's thinking level; used when thinking.level is not set."
    )
    reasoning_default: Literal["off", "on", "stream"] = works(
        default="off", description="Whether reasoning is shown, and how: whole, or as it comes."
    )
    verbose_default: Literal["off", "on", "full"] = works(
        default="on",
        description="What is told of tool calls: nothing, a line for each, or their results too.",
    )
    timeout_seconds: Positive = works(default=600, description="Seconds one turn of an agent may take.")
    llm: ModelRequests = part(ModelRequests, description="Requests to models.")
    max_turns: Positive = works(default=100, description="Model answers in one run.")
    max_concurrent: Positive = works(default=8, description="Agent turns that run at once.")
    subagents: Subagents = part(Subagents, description="Agents spawned by agents.")
    context_limits: ContextLimits = part(ContextLimits, description="Sizes in the context.")
    context_pruning: ContextPruning = part(ContextPruning, description="Cutting old tool results.")
    compaction: CompactionSettings = part(CompactionSettings, description="Summarising old turns.")
    memory_search: MemorySearch = part(MemorySearch, description="Long-term memory.")
    block_streaming_default: Literal["off", "on"] = works(
        default="off", description="Whether whoever listens gets an answer in blocks while it is written."
    )
    block_streaming_break: Literal["text_end", "message_end"] = works(
        default="text_end",
        description="Whether blocks are sent as they are written, or when the message ends.",
    )
    block_streaming_chunk: BlockChunk = part(BlockChunk, description="Size of blocks.")
    block_streaming_coalesce: BlockCoalesce = part(BlockCoalesce, description="Joining small blocks.")
    heartbeat: Heartbeat = part(Heartbeat, description="Regular checks.")
    sandbox: Sandbox = part(Sandbox, description="Where tools run.")

    @property
    def thinking_level(self) -> Level:
        """`thinking.level`, else the nearest to OpenClaw's `thinkingDefault`."""
        if "level" in self.thinking.model_fields_set or self.thinking_default is None:
            return self.thinking.level
        return NEAREST_LEVEL[self.thinking_default]


class Identity(Section):
    name: str | None = works(default=None, description="The name the agent goes by, in its prompt.")
    theme: str | None = works(default=None, description="Its manner, in a few words.")
    emoji: str | None = works(default=None, description="Its emoji.")
    avatar: str | None = works(
        default=None,
        description="Its picture on the page: a file in its workspace (PNG, JPEG, GIF or WebP, up to 1 MB),"
        " or an emoji. A web address is not fetched.",
    )


class FileTools(Section):
    workspace_only: Flag = works(
        default=True,
        description="Whether file tools stay inside the workspace; false: absolute paths reach the disk,"
        " apart from keys and what belongs to others, and a change there asks first. Not in a sandbox.",
    )


class AllowedCommand(Section):
    program: str = works(description="Its name, found as commands find it, or its path.")
    args: Names | None = works(
        default=None,
        description="A pattern for each argument, * for any text; ** at the end for any more. Any arguments"
        " when not set.",
    )


class ExecTool(RenamedSection):
    renamed: ClassVar[Mapping[str, str]] = {"timeoutSec": "timeoutSeconds"}
    passed_over = keys(
        "host mode node safeBins safeBinTrustedDirs safeBinProfiles strictInlineEval commandHighlighting"
        " reviewer cleanupMs notifyOnExit notifyOnExitEmptySuccess approvalRunningNoticeMs grantExpiryDays"
        " applyPatch"
    )

    security: Literal["deny", "allowlist", "full"] | None = works(
        default=None,
        description="What exec may run: nothing, what the allowlist has, or anything (when not set). What is"
        " not allowed is refused, or asked about as `ask` says.",
    )
    ask: Literal["off", "on-miss", "always"] | None = works(
        default=None,
        description="Whether a person is asked first: never, for what the allowlist does not have (when not"
        " set), or for every command.",
    )
    allowlist: tuple[AllowedCommand, ...] = Field(
        default=(), description="Commands that run without a question."
    )
    timeout_seconds: Positive = works(default=1800, description="Seconds a command may run.")
    background_ms: Positive = works(
        default=10_000, description="Milliseconds until it goes on in the background."
    )
    path_prepend: Names = works(default=(), description="Folders put before PATH.")
    max_processes: Positive = works(
        default=500, description="Processes one command may have at once; with more, all are killed."
    )


class LoopDetection(Section):
    passed_over = keys(
        "historySize warningThreshold globalCircuitBreakerThreshold detectors semanticNoProgress"
    )

    enabled: Flag = works(default=True, description="Whether an agent that repeats itself is stopped.")
    critical_threshold: Positive = works(
        default=20, description="The same call so many times in a row stops it."
    )


class AgentTools(ToolPolicy):
    passed_over = keys(
        "toolsBySender codeMode swarm elevated message agentToAgent links media web sessions_spawn toolSearch"
    )

    by_provider: Mapping[str, ToolPolicy] = Field(
        default_factory=dict, description="The same for one provider, or one provider/model."
    )
    exec: ExecTool = part(ExecTool, description="Running commands.")
    fs: FileTools = part(FileTools, description="Reading and writing files.")
    loop_detection: LoopDetection = part(LoopDetection, description="Agents that repeat themselves.")
    sandbox: ToolLayer = part(ToolLayer, description="Tools in sandboxed sessions.")


class AgentEntry(Section):
    passed_over = keys(
        "agentDir cwd utilityModel models modelPolicy toolProgressDetail fastModeDefault"
        " contextInjection experimental memory memorySearch humanDelay typingMode typingIntervalSeconds tts"
        " skillsLimits contextTokens heartbeat groupChat embeddedAgent embeddedPi plugins params runtime"
        " agentRuntime compaction"
    )

    id: str = works(description="The agent's id, as in agent:<id>:main.")
    default: Flag = works(default=False, description="Whether it is the agent used when none is named.")
    name: str | None = works(default=None, description="Its name for people.")
    description: str | None = works(
        default=None, description="What it is for; agents that may hand work to it are told."
    )
    identity: Identity = part(Identity, description="Who it is to people.")
    workspace: PathText | None = works(default=None, description="Its workspace.")
    model: ModelChoice | None = Field(default=None, description="Its model, or {primary, fallbacks}.")
    skills: Names | None = works(
        default=None, description="The skills it may use, in the place of those of the defaults; [] is none."
    )
    thinking_default: AnyLevel | None = works(default=None, description="Its thinking level.")
    reasoning_default: Literal["off", "on", "stream"] | None = works(
        default=None, description="Whether its reasoning is shown."
    )
    verbose_default: Literal["off", "on", "full"] | None = works(
        default=None, description="What is told of its tool calls."
    )
    bootstrap_max_chars: Positive | None = works(
        default=None, description="Characters of one bootstrap file."
    )
    bootstrap_total_max_chars: Positive | None = works(default=None, description="Characters of all of them.")
    context_limits: ContextLimits | None = Field(default=None, description="Sizes in its context.")
    subagents: SubagentChoice = part(SubagentChoice, description="Agents it may spawn.")
    sandbox: Sandbox | None = Field(default=None, description="Where its tools run.")
    tools: AgentTools = part(AgentTools, description="The tools it may use.")


class Agents(Section):
    passed_over = keys("ownership")

    defaults: AgentDefaults = part(AgentDefaults, description="What holds for every agent.")
    listed: tuple[AgentEntry, ...] = Field(
        default=(), alias="list", description="Agents with settings of their own."
    )
    entries: Mapping[str, AgentEntry] = Field(
        default_factory=dict, description="The same by id, as newer OpenClaw files have it."
    )

    @model_validator(mode="before")
    @classmethod
    def _give_ids(cls, value: Any) -> Any:
        entries = value.get("entries") if isinstance(value, dict) else None
        if not isinstance(entries, dict):
            return value
        named = {
            key: {**item, "id": key} if isinstance(item, dict) else item for key, item in entries.items()
        }
        return {**value, "entries": named}

    @model_validator(mode="after")
    def _check_ids(self) -> "Agents":
        counts = Counter(agent.id for agent in self.listed)
        if repeated := [name for name, count in counts.items() if count > 1]:
            raise ValueError(f"more than one agent has the id {', '.join(repeated)}")
        return self

    @property
    def all(self) -> tuple[AgentEntry, ...]:
        """Every agent once; `list` wins over `entries`."""
        return tuple({**self.entries, **{agent.id: agent for agent in self.listed}}.values())

    def find(self, agent: str) -> AgentEntry | None:
        return next((entry for entry in self.all if entry.id == agent), None)

    def of(self, agent: str) -> AgentEntry | None:
        """The entry of an agent; the main one may have another id there."""
        return self.main if agent == MAIN_AGENT else self.find(agent)

    @property
    def main(self) -> AgentEntry | None:
        """The entry of the main agent: the one called main, else the default one."""
        return self.find(MAIN_AGENT) or next((entry for entry in self.all if entry.default), None)

    def with_main(self) -> "Agents":
        """With the model and the workspace of the main agent as the defaults."""
        return self.with_agent(self.main)

    def with_agent(self, entry: AgentEntry | None) -> "Agents":
        """With what one agent has of its own in the place of the defaults."""
        if entry is None:
            return self
        own: dict[str, object] = {
            "workspace": entry.workspace,
            "model": _laid_over(self.defaults.model, entry.model),
            "context_limits": _laid_over(self.defaults.context_limits, entry.context_limits),
            "thinking_default": entry.thinking_default,
            "bootstrap_max_chars": entry.bootstrap_max_chars,
            "bootstrap_total_max_chars": entry.bootstrap_total_max_chars,
            "reasoning_default": entry.reasoning_default,
            "verbose_default": entry.verbose_default,
            "subagents": self._subagents_of(entry),
            "skills": entry.skills,
        }
        update = {name: value for name, value in own.items() if value is not None}
        return self.model_copy(update={"defaults": self.defaults.model_copy(update=update)})

    def _subagents_of(self, entry: AgentEntry) -> Subagents:
        own = {name: getattr(entry.subagents, name) for name in entry.subagents.model_fields_set}
        return self.defaults.subagents.model_copy(update=own)


def _laid_over(below: Section | None, own: Section | None) -> Section | None:
    """What is set in `own` over `below`: a model's name alone leaves the fallbacks of the defaults."""
    if own is None or below is None:
        return own
    return below.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
