"""The settings as models: every key of colleague.json, and those of openclaw.json that we read."""

import ipaddress
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from colleague.config.agent_tools import AgentTools, ToolLayer
from colleague.config.agents import Agents
from colleague.config.channel_groups import check_group_tools
from colleague.config.file import Node, SettingsWarning
from colleague.config.mcp import McpOAuth, McpSampling
from colleague.config.plugins import Plugins
from colleague.config.secret import Secret, resolve
from colleague.config.section import (
    Duration,
    Flag,
    FreeForm,
    Names,
    Number,
    PathText,
    Positive,
    RenamedSection,
    Section,
    Variable,
    keys,
    part,
    works,
)
from colleague.config.sessions import Queue, SessionSettings
from colleague.config.skills import Skills
from colleague.config.speech import SpeechSettings
from colleague.config.tool_groups import check_groups
from colleague.config.web import WebTools
from colleague.duration import parse_duration
from colleague.errors import ConfigError, NotFound
from colleague.home import Home
from colleague.main_names import MAIN_AGENT

DEDUPE_WINDOW = parse_duration("7d")
Tier = Literal["auto", "confirm", "manual"]


def _check_bind(text: str) -> str:
    if text not in ("loopback", "lan"):
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise ValueError(
                f'it is {json.dumps(text)}; it takes "loopback", "lan" or an IP address'
            ) from None
    return text


def _check_proxies(proxies: tuple[str, ...]) -> tuple[str, ...]:
    for text in proxies:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise ValueError(
                f"{json.dumps(text)} is no address; it takes such as 127.0.0.1 or 10.0.0.0/8"
            ) from None
    return proxies


def _check_database(database: Secret) -> Secret:
    if "${" not in database.raw and not database.raw.startswith(("postgresql://", "postgres://")):
        raise ValueError("it takes a URL that starts with postgresql://, or null for SQLite in the home")
    return database


def _check_token(token: Secret) -> Secret:
    if not token.raw.strip():
        raise ValueError("it is empty; it takes a text such as ${NAME}")
    return token


Token = Annotated[Secret, AfterValidator(_check_token)]


class ModelCost(Section):
    passed_over = keys("tiers tieredPricing")

    input: Number = works(default=0, description="Dollars for a million input tokens.")
    output: Number = works(default=0, description="Dollars for a million output tokens.")
    cache_read: Number = works(default=0, description="Dollars for a million tokens read from the cache.")
    cache_write: Number = works(default=0, description="Dollars for a million tokens written to the cache.")


class ProviderModel(Section):
    passed_over = keys("agentRuntime mediaInput metadataSource")

    id: str = works(description="The model's id at the provider.")
    name: str | None = works(default=None, description="Its name for people, in model list.")
    api: str | None = works(default=None, description="The protocol, when it differs from the provider's.")
    reasoning: Flag = works(default=False, description="Whether it can think before it answers.")
    input: Names = works(
        default=("text",), description="What it takes: text, image. Known by its name when not set."
    )
    cost: ModelCost | None = Field(default=None, description="What it costs.")
    context_window: Positive | None = works(default=None, description="Tokens its context holds.")
    context_tokens: Positive | None = works(default=None, description="Tokens of it that we use.")
    max_tokens: Positive | None = works(default=None, description="Tokens of one answer.")
    headers: Mapping[str, Variable] = works(default_factory=dict, description="HTTP headers to send.")
    compat: FreeForm = works(default_factory=dict, description="What the server can do, as in OpenClaw.")
    params: FreeForm = works(default_factory=dict, description="Parameters sent with each request.")


class Provider(Section):
    passed_over = keys("injectNumCtxForOpenAICompat request localService agentRuntime region contextTokens")

    base_url: str | None = works(
        default=None, description="Where its API is; the provider's own when not set."
    )
    api_key: Secret | None = works(default=None, description="The key, best as ${NAME}.")
    api: str | None = works(
        default=None,
        description="The protocol: openai-completions, openai-responses, anthropic-messages or google.",
    )
    auth: Literal["api-key", "token", "oauth", "aws-sdk"] | None = works(
        default=None,
        description="How apiKey is sent: api-key as the provider's keys, token and oauth as a bearer token; "
        "aws-sdk is not supported.",
    )
    auth_header: Flag = works(default=False, description="Whether the key goes in the Authorization header.")
    headers: Mapping[str, Variable] = works(default_factory=dict, description="HTTP headers to send.")
    timeout_seconds: Positive | None = works(
        default=None, description="Seconds one request may take; an hour when not set."
    )
    idle_timeout_seconds: Positive | None = works(
        default=None,
        description="Seconds without a byte after which a request is given up and made again;"
        " agents.defaults.llm.idleTimeoutSeconds when not set.",
    )
    context_window: Positive | None = works(
        default=None, description="Tokens of context, for models that do not say."
    )
    max_tokens: Positive | None = works(
        default=None, description="Tokens of an answer, for models that do not say."
    )
    params: FreeForm = works(default_factory=dict, description="Parameters sent with each request.")
    models: tuple[ProviderModel, ...] = Field(default=(), description="Its models.")


class Models(Section):
    passed_over = keys("bedrockDiscovery catalogRefresh pricing proxy")

    mode: Literal["merge", "replace"] = works(
        default="merge", description="Whether providers add to the built-in ones or replace them."
    )
    providers: Mapping[str, Provider] = Field(default_factory=dict, description="Model providers by id.")


class AgentToAgent(Section):
    enabled: Flag = works(default=False, description="Whether agents may write to each other's sessions.")
    allow: Names = works(default=(), description="Agents that take part; empty means all.")


class SessionVisibility(Section):
    passed_over = keys("allowThreadTargets")

    visibility: Literal["self", "tree", "agent", "all"] = works(
        default="tree", description="Which sessions the session tools see."
    )


def _check_approvals(approvals: Mapping[str, Tier]) -> Mapping[str, Tier]:
    check_groups(tuple(approvals))
    return approvals


class Tools(AgentTools):
    passed_over = keys(
        "media links toolSearch codeMode swarm message elevated toolsBySender sessions_spawn experimental"
        " updatePlan canvas"
    )

    web: WebTools = part(WebTools, description="The web.")
    sessions: SessionVisibility = part(SessionVisibility, description="Other sessions.")
    agent_to_agent: AgentToAgent = part(AgentToAgent, description="Other agents.")
    subagents: ToolLayer = part(ToolLayer, description="Tools of spawned agents.")
    approvals: Annotated[Mapping[str, Tier], AfterValidator(_check_approvals)] = works(
        default_factory=dict,
        description="Who is asked before a tool is used, by name, pattern or group: auto, confirm or manual."
        " The longest pattern counts.",
    )


class ToolFilter(Section):
    include: Names = works(default=(), description="Only these tools; * stands for any letters.")
    exclude: Names = works(default=(), description="Not these tools.")


class McpSandbox(Section):
    enabled: Flag = works(
        default=True, description="Whether the local server runs in a sandbox of its own; needs bubblewrap."
    )
    network: Flag = works(default=False, description="Whether it reaches the network.")
    read: Names = works(default=(), description="Folders it may read, such as the one its program is in.")
    write: Names = works(default=(), description="Folders it may change.")


class McpServer(RenamedSection):
    renamed: ClassVar[Mapping[str, str]] = {"type": "transport", "workingDirectory": "cwd"}
    passed_over = keys(
        "auth sslVerify ssl_verify clientCert client_cert clientKey client_key codex timeout"
        " connectTimeout connect_timeout supports_parallel_tool_calls"
    )

    enabled: Flag = works(default=True, description="Whether the server is used.")
    demo: Flag = works(default=False, description="Whether it is a demo: rehearsals may really act on it.")
    command: str | None = works(default=None, description="The program to start, for a local server.")
    args: Names = works(default=(), description="Its arguments.")
    env: Mapping[str, Variable] = works(default_factory=dict, description="Its environment variables.")
    cwd: PathText | None = works(default=None, description="The folder it starts in.")
    url: str | None = works(default=None, description="Where the server is, for a remote one.")
    transport: Literal["stdio", "sse", "streamable-http", "http"] | None = works(
        default=None, description="How to speak to it; streamable-http for a url when not set."
    )
    headers: Mapping[str, Variable] = works(default_factory=dict, description="HTTP headers to send.")
    connection_timeout_ms: Positive = works(default=30_000, description="Milliseconds to connect.")
    request_timeout_ms: Positive = works(default=60_000, description="Milliseconds one call may take.")
    supports_parallel_tool_calls: Flag = works(default=False, description="Whether calls may run at once.")
    tool_filter: ToolFilter = part(ToolFilter, description="Which of its tools are used.")
    roots: Names = works(default=(), description="Folders it is told of as its roots; none when not set.")
    sandbox: McpSandbox | None = Field(
        default=None, description="Confines a local server to what is named here; not confined when not set."
    )
    sampling: McpSampling = part(McpSampling, description="Its requests to a model.")
    oauth: McpOAuth = part(McpOAuth, description="Its login: colleague mcp login NAME.")

    @model_validator(mode="after")
    def _check_way(self) -> "McpServer":
        if self.command and self.url:
            raise ValueError("it has both command and url; set the one that does not count to null")
        if self.enabled and not self.command and not self.url:
            raise ValueError("it has neither command nor url; give one, or set enabled to false")
        return self

    @property
    def protocol(self) -> Literal["stdio", "sse", "streamable-http"]:
        if self.command:
            return "stdio"
        return "sse" if self.transport == "sse" else "streamable-http"


class Mcp(Section):
    passed_over = keys("sessionIdleTtlMs apps")

    servers: Mapping[str, McpServer] = Field(default_factory=dict, description="MCP servers by name.")


class Messages(Section):
    passed_over = keys(
        "messagePrefix responsePrefix groupChat inbound ackReaction ackReactionScope removeAckAfterReply"
        " statusReactions suppressToolErrors visibleReplies"
    )

    queue: Queue = part(Queue, description="Messages that arrive during a turn.")
    tts: SpeechSettings = part(SpeechSettings, description="Text as speech.")


class MemorySettings(Section):
    passed_over = keys("backend qmd")

    citations: Literal["auto", "on", "off"] = works(
        default="auto",
        description="Whether agents say in which file and line a memory stands; auto: not in groups.",
    )


class AuthProfile(Section):
    provider: str = works(description="The provider it is for.")
    mode: Literal["api_key", "token", "oauth", "aws-sdk"] = works(
        default="api_key", description="What it holds; aws-sdk is passed over."
    )
    key: Secret | None = works(default=None, description="The API key, best as ${NAME}.")
    token: Secret | None = works(
        default=None, description="The token, or the access token of oauth, best as ${NAME}."
    )
    refresh: Secret | None = works(
        default=None, description="With oauth: the refresh token, best as ${NAME}."
    )
    client_id: str | None = works(default=None, description="With oauth: the client the tokens are for.")
    token_url: str | None = works(default=None, description="With oauth: where a new access token is got.")
    email: str | None = works(default=None, description="Whose it is.")
    display_name: str | None = works(default=None, description="Its name for people.")


class Auth(Section):
    passed_over = keys("cooldowns")

    profiles: Mapping[str, AuthProfile] = Field(
        default_factory=dict, description="Several keys for one provider, by name."
    )
    order: Mapping[str, Names] = works(
        default_factory=dict, description="By provider: profiles in the order they are tried."
    )


class Pubsub(Section):
    audience: str = works(description="The audience of the push subscription, as it is set at Google.")
    service_account: str = works(description="The e-mail address of the service account that pushes.")
    keys_url: str = works(
        default="https://www.googleapis.com/oauth2/v3/certs",
        description="Where the public keys are to check its tokens with.",
    )


class ExtraBootstrapFiles(Section):
    passed_over = keys("patterns files")

    enabled: Flag = works(default=True, description="Whether the files are added.")
    paths: Names = works(
        default=(),
        description="Files in folders of the workspace that stand in the prompt as well: paths, with * for "
        "any name. Only AGENTS.md and the other bootstrap names can be added.",
    )


class InternalHookEntries(Section):
    passed_over = keys("session-memory command-logger boot-md")

    bootstrap_extra_files: ExtraBootstrapFiles = part(
        ExtraBootstrapFiles,
        alias="bootstrap-extra-files",
        description="More bootstrap files.",
    )


class InternalHooks(Section):
    passed_over = keys("handlers load installs")

    enabled: Flag = works(default=True, description="Whether the entries count.")
    entries: InternalHookEntries = part(InternalHookEntries, description="Each by its name.")

    @property
    def extra_bootstrap_files(self) -> Names:
        """The paths and patterns of files that stand in the prompt beside the usual ones."""
        added = self.entries.bootstrap_extra_files
        return added.paths if self.enabled and added.enabled else ()


class Hooks(Section):
    passed_over = keys(
        "enabled path defaultSessionKey allowRequestSessionKey allowedSessionKeyPrefixes allowedAgentIds"
        " presets transformsDir mappings gmail"
    )

    token: Token | None = works(default=None, description="The secret of hooks that have none of their own.")
    max_body_bytes: Positive = works(default=1_048_576, description="The largest request body a hook takes.")
    pubsub: Pubsub | None = Field(
        default=None, description="Google's own pushes at /hooks/gmail, by the token that Google signs."
    )
    internal: InternalHooks = part(
        InternalHooks,
        description="Hooks of the runtime itself; also read from openclaw.json.",
    )


class GatewayAuth(Section):
    passed_over = keys("password allowTailscale rateLimit trustedProxy")

    mode: Literal["token", "none"] = works(default="token", description="none is for loopback only.")
    token: Token | None = works(default=None, description="The token callers send, best as ${NAME}.")


class GatewaySettings(Section):
    passed_over = keys(
        "mode customBindHost controlUi allowRealIpFallback tools webchat tailscale remote"
        " reload tls http push nodes publicOrigin channelHealthCheckMinutes"
    )

    port: Annotated[Positive, Field(le=65535)] = works(default=18790, description="The port it listens on.")
    bind: Annotated[str, AfterValidator(_check_bind)] = works(
        default="loopback", description="loopback, lan (every interface) or an IP address."
    )
    auth: GatewayAuth = part(GatewayAuth, description="Who may call it.")
    trusted_proxies: Annotated[Names, AfterValidator(_check_proxies)] = works(
        default=(),
        description="Proxies whose X-Forwarded-For or Forwarded counts: addresses or networks (10.0.0.0/8).",
    )


class Experts(Section):
    database: Annotated[Secret, AfterValidator(_check_database)] | None = works(
        default=None, description="A postgresql:// URL; null is SQLite in the home."
    )
    dedupe_window: Duration = works(
        default=DEDUPE_WINDOW, description="How long a repeated event is recognised."
    )
    retention: Duration = works(default=parse_duration("30d"), description="How long finished runs are kept.")
    scratch_retention: Duration = works(
        default=parse_duration("7d"), description="How long scratch files are kept."
    )
    max_concurrent_runs: Positive = works(default=32, description="Runs that work at once.")
    timeout_clock: Literal["working", "wall"] = works(
        default="working", description="Whether a process's timeout counts working time or time on the wall."
    )
    main_agent_manual: Literal["draft", "confirm"] = works(
        default="draft",
        description="What the main agent may do with a tool that some expert's policy holds as manual: leave"
        " a draft, or ask.",
    )
    main_turn: Literal["notify", "relay"] = works(
        default="notify",
        description="Whether what is for main only arrives in the main session, or the main agent also takes "
        "a turn on it.",
    )
    private_egress: Literal["filter", "ask"] = works(
        default="filter",
        description="Whether a filter alone keeps private knowledge in, or a person is asked as well before "
        "any text leaves.",
    )


class Settings(Section):
    """All settings of a home."""

    passed_over = keys(
        "accessGroups acp approvals attachments audio bindings broadcast browser canvas canvasHost cli"
        " cloudWorkers commandBridge commands commitments crestodian cron desktop diagnostics discovery env"
        " gateway hooks logging media meta nodeHost plugins proxy repositoryBranchPrefix"
        " secrets security surfaces talk telemetry transcripts tts ui update vault web wizard"
        " worktreeAcceleration worktreeMaxCount worktreeRoot"
    )

    agents: Agents = part(Agents, description="The agents.")
    models: Models = part(Models, description="Model providers.")
    tools: Tools = part(Tools, description="The tools agents may use.")
    mcp: Mcp = part(Mcp, description="MCP servers.")
    session: SessionSettings = part(SessionSettings, description="Conversations.")
    messages: Messages = part(Messages, description="How messages are taken in.")
    skills: Skills = part(Skills, description="Skills.")
    memory: MemorySettings = part(MemorySettings, description="How agents use their memory.")
    channels: Annotated[Mapping[str, FreeForm], AfterValidator(check_group_tools)] = works(
        default_factory=dict,
        description="Chat channels by name; each needs a plugin that has it, which gets its keys. For every"
        " channel count enabled, allowFrom, dmPolicy, groupPolicy, groupAllowFrom, groups.<id>.tools,"
        " textChunkLimit, replyToMode and thread.initialHistoryLimit.",
    )
    auth: Auth = part(Auth, description="Several keys for one provider.")
    hooks: Hooks = part(Hooks, description="Webhooks.")
    plugins: Plugins = part(Plugins, description="Plugins.")
    gateway: GatewaySettings = part(GatewaySettings, description="The HTTP server.")
    experts: Experts = part(Experts, description="Experts and their runs.")

    _home: Path = PrivateAttr(default_factory=lambda: Home.find().root)
    _warnings: tuple[SettingsWarning, ...] = PrivateAttr(())
    _files: tuple[Path, ...] = PrivateAttr(())
    _tree: Node | None = PrivateAttr(None)

    @property
    def warnings(self) -> tuple[SettingsWarning, ...]:
        """What the files say that has no effect."""
        return self._warnings

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read for them, with those that they include."""
        return self._files

    @property
    def own_files(self) -> tuple[Path, ...]:
        """colleague.json, and what it includes."""
        own = Home(self._home).settings_file
        return self._files[self._files.index(own) :] if own in self._files else ()

    @property
    def tree(self) -> Node | None:
        """The files as they were read, one laid over the other; None when there are none."""
        return self._tree

    def for_agent(self, agent_id: str) -> "Settings":
        """The same settings with what one agent has of its own. Raises NotFound for an agent there is not."""
        main = self.agents.main
        if agent_id == MAIN_AGENT or (main is not None and main.id == agent_id):
            return self
        entry = self.agents.find(agent_id)
        if entry is None:
            there = ", ".join([MAIN_AGENT, *(each.id for each in self.agents.all if each.id != MAIN_AGENT)])
            raise NotFound(f"there is no agent {agent_id!r}", hint=f"agents.list has: {there}")
        own = entry if entry.workspace else entry.model_copy(update={"workspace": f"workspace-{agent_id}"})
        return self.model_copy(update={"agents": self.agents.with_agent(own)})

    @property
    def home_root(self) -> Path:
        """The home that they were read from."""
        return self._home

    @property
    def workspace(self) -> Path:
        """The main workspace; a relative path is taken from the home."""
        key = "agents.defaults.workspace"
        text = resolve(self.agents.defaults.workspace or "workspace", os.environ, key=key)
        try:
            return self._home / (Path(text).expanduser() if text.startswith("~") else text)
        except RuntimeError:
            raise ConfigError(f"{key}: there is no user {text!r}", hint="write the whole path") from None

    def read_from(
        self,
        home: Path,
        warnings: tuple[SettingsWarning, ...],
        files: tuple[Path, ...] = (),
        tree: Node | None = None,
    ) -> "Settings":
        """The same settings, read from that home."""
        settings = self.model_copy()
        settings._home, settings._warnings, settings._files, settings._tree = home, warnings, files, tree
        return settings
