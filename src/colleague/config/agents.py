"""The `agents` section of the settings."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from colleague import duration
from colleague.config.agent_tools import AgentTools
from colleague.config.context import CompactionSettings, ContextLimits, ContextPruning
from colleague.config.openclaw_duration import openclaw_duration
from colleague.config.sandbox import Sandbox
from colleague.config.section import (
    Flag,
    FreeForm,
    Int,
    Names,
    PathText,
    Positive,
    RenamedSection,
    Section,
    duration_schema,
    keys,
    part,
    works,
)
from colleague.main_names import MAIN_AGENT

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


def _as_choice(value: object) -> object:
    if isinstance(value, str):
        return {"primary": value}
    if not isinstance(value, dict | ModelPair):
        raise ValueError('it takes a model such as "provider/model", or { primary, fallbacks }')
    return value


Interval = Annotated[
    duration.Duration, duration_schema(duration.parse_duration), BeforeValidator(openclaw_duration)
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
