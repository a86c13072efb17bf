"""The agents that people talk to: a workspace, the file tools in it, and the configured MCP servers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from colleague.agent.chat_place import Chats, chat_target
from colleague.agent.context.budget import result_chars
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.state import EarlierMessages
from colleague.agent.decided_call import decided_call
from colleague.agent.history import SessionHistory
from colleague.agent.main_gate import MainAgentGate
from colleague.agent.models.context_size import context_window
from colleague.agent.models.keyring import all_profiles
from colleague.agent.models.resolve import (
    ProfileChoice,
    Routes,
    default_model,
    full_name,
    resolve_model,
    resolve_routes,
)
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.thinking import Thinking, nearest_level
from colleague.agent.pictures.request import shown_pictures
from colleague.agent.policy.explain import explain_tool, explain_tools, with_note
from colleague.agent.policy.repeats import repeat_limit
from colleague.agent.policy.session_policy import SessionToolPolicy, origin_of
from colleague.agent.prompt.bootstrap_once import BootstrapOnce
from colleague.agent.prompt.preview import preview_run
from colleague.agent.prompt.report import is_same, with_schemas
from colleague.agent.prompt.turn_prompt import TurnPrompt
from colleague.agent.restrictions import DraftOnly, NoRestrictions, NothingDrafted, Restrictions
from colleague.agent.run_spec import CannotAssemble, RunSpec
from colleague.agent.served_tool import LoginNeededTool, served_tool
from colleague.agent.session_profile import AUTO, stay_with, wanted_profile
from colleague.agent.session_skills import SessionSkills, SkillFinder, keep_snapshot, session_skills
from colleague.agent.thread_history import ThreadHistory, with_thread_history
from colleague.agent.tool import Tool
from colleague.agent.toolbox import Toolbox
from colleague.agent.tools.apply_patch import ApplyPatchTool
from colleague.agent.tools.fence import Fence
from colleague.agent.tools.file_tools import file_tools
from colleague.agent.tools.mcp_readings import mcp_reading_tools
from colleague.agent.tools.memory_tools import memory_tools
from colleague.agent.tools.outside import folders_of_agents, outside_fence
from colleague.agent.tools.reconcile import reconcile
from colleague.agent.tools.tree import Root, Tree
from colleague.agent.tools.versioned import VersionedTree
from colleague.agent.turn_end import HeartbeatEnd, TurnEndHooks
from colleague.agent.turn_inputs import TurnInputs
from colleague.agent.turn_opening import REMINDER, TurnOpening
from colleague.config import Settings
from colleague.config.tool_groups import GROUPS
from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.main_names import MAIN_AGENT, MAIN_CHANNEL
from colleague.mcp.errors import LoginNeeded, McpError
from colleague.mcp.servers import Servers
from colleague.protected import programs, protected_paths, require_safe_workspace
from colleague.sandbox.prompt_text import sandbox_text
from colleague.sandbox.reach import reach_note, reaches_outside
from colleague.sandbox.session_sandbox import SessionSandbox, sandbox_of
from colleague.session_document import PromptDocument, PromptMode
from colleague.session_key import SessionKey
from colleague.shortage import is_shortage
from colleague.store.auth_profiles import ProfileBook, read_book
from colleague.store.chat_answers import ChatTarget
from colleague.store.journal import NewCall
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry, find_session, open_session
from colleague.store.tx import Database, Tx
from colleague.tool_document import ToolDocument

log = logging.getLogger(__name__)

FILES_OWNER = "agent:main"
"""Owns the versions of its files. No expert can be called so."""


class MoreTools(Protocol):
    """Tools that a higher room gives to agents: sessions, experts, messages."""

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]: ...


@dataclass(frozen=True)
class MainAgent:
    """Assembles the turns of the agents that people talk to: the main one, and those of `agents.list`."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    database: Database
    servers: Servers
    history: SessionHistory
    restrictions: Restrictions = field(default_factory=NoRestrictions)
    more_tools: Sequence[MoreTools] = ()
    plugin_skills: Sequence[Path] = ()
    """Folders with skills of plugins."""
    chats: Chats = field(default_factory=Chats)
    threads: ThreadHistory | None = None
    home_settings: Settings | None = None
    """Where `settings` are those of one agent: the ones that they were made from."""

    async def assemble(self, run: Run) -> RunSpec:
        turn = await self.database.read(lambda tx: _stored_turn(tx, run))
        entry = turn.entry
        if entry is None:
            entry = await self.database.write(lambda tx: _opened(tx, run))
        chat = await chat_target(self.database, self.settings, self.chats, run, entry)
        try:
            agent = self._of(entry.agent_id)
            require_safe_workspace(self.home, agent.settings)
            return await agent._run_spec(run, entry, TurnInputs.of(run), turn, chat)
        except ColleagueError as error:
            if is_shortage(error):
                raise
            hooks = TurnEndHooks(self._heartbeat_end(TurnInputs.of(run)), chat=chat)
            raise CannotAssemble(error.message, hint=error.hint, end_hooks=hooks) from error

    def _of(self, agent_id: str) -> MainAgent:
        """With the settings of one agent."""
        return replace(self, settings=self.settings.for_agent(agent_id), home_settings=self.settings)

    async def _run_spec(
        self,
        run: Run,
        entry: SessionEntry,
        inputs: TurnInputs,
        turn: _StoredTurn,
        chat: ChatTarget | None,
    ) -> RunSpec:
        opening = TurnOpening(self.database)
        level = inputs.thinking or entry.thinking_level
        bootstrap = self._bootstrap(run, inputs)
        routes = await self._routes(run, entry, turn.book)
        model = routes.first
        rules = ContextRules.of(self.settings, has_memory=run.kind != "subagent")
        window = context_window(model)
        skills = await session_skills(self._skill_finder, self.settings, entry)
        await keep_snapshot(self.database, entry, skills)
        tools = [] if inputs.disable_tools else await self._tools(run, entry, skills)
        toolbox = self._policy(run, entry, turn.origin).toolbox(tools)
        thinking = Thinking.of(self.settings, nearest_level(level) if level else None)
        made = replace(
            self._prompt(entry, turn.now, skills, toolbox, channel=chat.channel if chat else ""),
            model=model.name,
            thinking=thinking.level,
            extra=inputs.extra_system_prompt,
            first=bootstrap is not None,
            reasoning_tags=_writes_reasoning(model, inputs.reasoning or entry.reasoning_level),
        )
        spec = RunSpec(
            owner=MAIN_AGENT,
            routes=routes,
            system=made.prompt.stable,
            system_tail=made.prompt.tail,
            toolbox=toolbox,
            gate=await self._gate(entry, skills),
            draft_channel=MAIN_CHANNEL,
            thinking=thinking,
            max_turns=self.settings.agents.defaults.max_turns,
            same_call_limit=repeat_limit(self.settings, entry.agent_id),
            failures_repeat=True,
            timeout_seconds=inputs.timeout_seconds or self.settings.agents.defaults.timeout_seconds,
            opening=with_thread_history(opening, self.threads, entry, chat),
            history=partial(
                self.history.before, most=self._most_turns(entry), result_chars=result_chars(window, rules)
            ),
            context=rules,
            summary_model=summary_model(self.settings, self.environ, self.home.root),
            compacts=inputs.compact,
            steering=None if inputs.heartbeat else opening.render,
            pictures=partial(shown_pictures, self.home),
            parks=self.settings.session.approvals == "park",
            decided_call=turn.decided,
            hidden=inputs.heartbeat,
            chat=chat,
            end_hooks=TurnEndHooks(self._heartbeat_end(inputs), bootstrap, _new_report(made), chat),
        )
        return self._as_subagent(spec, entry, inputs) if run.kind == "subagent" else spec

    async def _draft_only(self) -> DraftOnly:
        """Only tools of servers are withheld, so without servers no package is read."""
        return await asyncio.to_thread(self.restrictions.draft_only) if self._servers else NothingDrafted()

    @property
    def _servers(self) -> list[str]:
        return [name for name, server in self.settings.mcp.servers.items() if server.enabled]

    async def _routes(self, run: Run, entry: SessionEntry, book: ProfileBook) -> Routes:
        """A model that a person named for this run alone has no other to fall back to."""
        agent = entry.agent_id
        profiles = all_profiles(self.settings, self.environ, agent=agent)
        wanted = wanted_profile(entry, {each.name for each in profiles})
        choice = ProfileChoice(agent, wanted, book, entry.auth_profile_override_source == AUTO)
        routes = resolve_routes(
            self.settings,
            self.environ,
            run.model or entry.chosen_model,
            choice=choice,
            folder=self.home.root,
            fallbacks=self._fallbacks(run),
        )
        if not choice.has_order(self.settings, routes.first.provider):
            await stay_with(self.database, entry, routes, book)
        return routes

    def _fallbacks(self, run: Run) -> Sequence[str] | None:
        """None means those of the agent's settings."""
        if run.kind != "subagent":
            return () if run.model else None
        own = self.settings.agents.defaults.subagents.model
        return own.fallbacks if own is not None and own.fallbacks else None

    def _as_subagent(self, spec: RunSpec, entry: SessionEntry, inputs: TurnInputs) -> RunSpec:
        """Its questions hold it, its parent is told of them, and only a limit of its own ends it."""
        limit = inputs.timeout_seconds or self.settings.agents.defaults.subagents.run_timeout_seconds
        fork = json.loads(entry.origin or "{}").get("fork")
        chars = result_chars(context_window(spec.routes.first), spec.context)
        own = partial(self.history.before, result_chars=chars)
        history = own if fork is None else self._forked(fork, own, chars)
        return replace(
            spec, parks=False, ask_channel=MAIN_CHANNEL, timeout_seconds=limit or None, history=history
        )

    def _forked(
        self, fork: dict[str, Any], own: Callable[[Run], Awaitable[EarlierMessages]], chars: int
    ) -> Callable[[Run], Awaitable[EarlierMessages]]:
        """The earlier turns of the session that spawned it come before its own, until a summary of its own
        stands for them."""

        async def before(run: Run) -> EarlierMessages:
            found = await own(run)
            if found.compaction is not None:
                return found
            there = fork["transcript"], fork["before"]
            return EarlierMessages(
                [*await self.history.elsewhere(run, *there, result_chars=chars), *found.units]
            )

        return before

    @property
    def _skill_finder(self) -> SkillFinder:
        return SkillFinder(self.home, self.environ, self.plugin_skills)

    async def _tools(self, run: Run, entry: SessionEntry, skills: SessionSkills) -> list[Tool]:
        """All there are; the policy decides which of them are offered."""
        more = [await each.tools(run, entry, self.settings) for each in self.more_tools]
        given = [*self._memory_tools(run), *(tool for tools in more for tool in tools)]
        reading = mcp_reading_tools(self.servers, self._servers)
        return [*self._file_tools(run, skills), *given, *reading, *await self._served_tools()]

    def _policy(self, run: Run, entry: SessionEntry, origin: SessionKey) -> SessionToolPolicy:
        """Of every model that may answer: a fallback never has a tool that is denied to it."""
        chosen = run.model or self._model_name(entry)
        own = self.settings.agents.defaults.model
        fallbacks = self._fallbacks(run)
        others = (own.fallbacks if own else ()) if fallbacks is None else fallbacks
        models = dict.fromkeys(full_name(self.settings, each) for each in (chosen, *others))
        return SessionToolPolicy.of(self.settings, entry, origin, models)

    async def _gate(self, entry: SessionEntry, skills: SessionSkills) -> MainAgentGate:
        return MainAgentGate(
            await self._draft_only(),
            self.settings.hooks.internal.extra_bootstrap_files,
            self.settings.tools.approvals,
            skills.roots.keys(),
            reaches_outside(self.settings, entry.key),
        )

    async def explain(self, entry: SessionEntry, name: str | None = None) -> list[ToolDocument]:
        """The tools that the next turn of a session could have, and which layer decided; or one of them."""
        agent, run = self._of(entry.agent_id), preview_run(entry)
        origin = await self.database.read(lambda tx: origin_of(tx, entry))
        skills = SessionSkills()
        gate, tools = await agent._gate(entry, skills), await agent._tools(run, entry, skills)
        found = tools, agent._policy(run, entry, origin), gate
        documents = explain_tools(*found) if name is None else [explain_tool(*found, name)]
        return with_note(documents, GROUPS["group:fs"], reach_note(agent.settings, entry.key))

    def _bootstrap(self, run: Run, inputs: TurnInputs) -> BootstrapOnce | None:
        """BOOTSTRAP.md is for the first turn with a person: no sub-agent reads it, no reminder uses it up."""
        planned = inputs.heartbeat or inputs.sender.get("id", "").startswith(REMINDER)
        with_person = run.kind == "agent" and inputs.message and not planned and inputs.compact is None
        return BootstrapOnce.of(self.settings.workspace) if with_person else None

    def _heartbeat_end(self, inputs: TurnInputs) -> HeartbeatEnd | None:
        heartbeat = self.settings.agents.defaults.heartbeat
        return HeartbeatEnd(heartbeat.ack_max_chars, heartbeat.target != "none") if inputs.heartbeat else None

    def _most_turns(self, entry: SessionEntry) -> int | None:
        """How many earlier turns of a chat a model is told; None is all, as in sessions that are no chat."""
        limits = self.settings.session.history_limits
        chats = {"dm": limits.direct, "group": limits.group, "channel": limits.channel}
        return chats.get(entry.chat_type or "")

    async def preview(self, entry: SessionEntry, mode: PromptMode | None) -> PromptDocument:
        """The prompt that the next turn of a session would have."""
        agent, run = self._of(entry.agent_id), preview_run(entry)
        origin = await self.database.read(lambda tx: origin_of(tx, entry))
        skills = await session_skills(agent._skill_finder, agent.settings, entry)
        toolbox = agent._policy(run, entry, origin).toolbox(await agent._tools(run, entry, skills))
        level = nearest_level(entry.thinking_level) if entry.thinking_level else None
        made = replace(
            agent._prompt(entry, await self.database.read(lambda tx: tx.now), skills, toolbox),
            model=agent._model_name(entry),
            thinking=Thinking.of(agent.settings, level).level,
            first=BootstrapOnce.of(agent.settings.workspace) is not None,
            reasoning_tags=_writes_reasoning(agent._model(entry), entry.reasoning_level),
            wanted_mode=mode,
        )
        return {**with_schemas(made.report, toolbox.specs), "session": entry.key, "prompt": made.prompt.text}

    def _prompt(
        self, entry: SessionEntry, now: int, skills: SessionSkills, toolbox: Toolbox, *, channel: str = ""
    ) -> TurnPrompt:
        """Of any turn of a session. `channel`: where it is answered, when not on the session's."""
        sandbox = sandbox_of(self.home, self.settings, entry.key)
        return TurnPrompt(
            self.settings,
            entry,
            now,
            toolbox.specs,
            skills=skills.snapshot.prompt,
            sandbox=sandbox_text(sandbox),
            own_folder=sandbox is not None and sandbox.has_own_folder,
            outside=reaches_outside(self.settings, entry.key),
            channel=channel,
            capabilities=self.chats.can(channel or entry.channel),
        )

    def _model(self, entry: SessionEntry) -> ResolvedModel | None:
        """None when no model can be used."""
        try:
            return resolve_model(self.settings, self.environ, entry.chosen_model, folder=self.home.root)
        except ColleagueError:
            return None

    def _model_name(self, entry: SessionEntry) -> str:
        """Empty when no model can be used."""
        try:
            chosen = entry.chosen_model or default_model(self.settings, self.environ)
        except ColleagueError:
            return ""
        return full_name(self.settings, chosen)

    def _file_tools(self, run: Run, skills: SessionSkills) -> list[Tool]:
        sandbox = sandbox_of(self.home, self.settings, run.session_key)
        tree = (
            self._tree(skills, self._outside(run.session_key))
            if sandbox is None
            else self._sandboxed_tree(sandbox, skills)
        )
        own = sandbox is not None and sandbox.access == "none"
        owner = f"{FILES_OWNER}#{sandbox.name}" if sandbox and own else FILES_OWNER
        patch = ApplyPatchTool(VersionedTree(tree, self.database, owner, self._locks), run.id)
        tools = file_tools(tree, self.database, owner=owner, run_id=run.id, locks=self._locks)
        return [*tools, patch]

    def _sandboxed_tree(self, sandbox: SessionSandbox, skills: SessionSkills) -> Tree:
        """The same files that its commands see."""
        if sandbox.access == "none":
            fence = Fence(_closed_paths(self.home, self.settings, self.restrictions))
            return Tree({"": Root(sandbox.folder, writable=True), **skills.roots}, fence=fence)
        return main_tree(self.home, self.settings, self.restrictions, skills, writable=sandbox.is_writable)

    def _memory_tools(self, run: Run) -> list[Tool]:
        """They read the workspace, so a session that may not touch it has none."""
        sandbox = sandbox_of(self.home, self.settings, run.session_key)
        if sandbox is not None and sandbox.access == "none":
            return []
        return memory_tools(
            self.settings.agents.defaults,
            self.settings.workspace,
            closed=_closed_paths(self.home, self.settings, self.restrictions),
            indexes=self.home.state / "memory-index",
        )

    async def mend_files(self) -> None:
        """Ends what a crash left between a file's recorded version and the file itself, wherever that is."""
        for left in await reconcile(
            self._tree(outside=outside_fence()), self.database, owner=FILES_OWNER, locks=self._locks
        ):
            log.info("mended %s: %s", left.path, left.problem or f"version {left.version}")

    def _outside(self, session_key: str) -> Fence | None:
        if not reaches_outside(self.settings, session_key):
            return None
        return outside_fence(folders_of_agents(self.home, self.home_settings or self.settings))

    def _tree(self, skills: SessionSkills | None = None, outside: Fence | None = None) -> Tree:
        self.settings.workspace.mkdir(parents=True, exist_ok=True)
        return main_tree(self.home, self.settings, self.restrictions, skills, outside=outside)

    @property
    def _locks(self) -> Path:
        return self.home.state / "file-locks"

    async def _served_tools(self) -> list[Tool]:
        """One dead server is an error of its own calls and nothing else."""
        found = await asyncio.gather(*(self._of_server(name) for name in self._servers))
        return [tool for tools in found for tool in tools]

    async def _of_server(self, name: str) -> list[Tool]:
        try:
            return [served_tool(self.servers, tool) for tool in await self.servers.tools(name)]
        except LoginNeeded as error:
            return [LoginNeededTool(error)]
        except McpError as error:
            log.warning("%s", error.message)
            return []


def main_tree(
    home: Home,
    settings: Settings,
    restrictions: Restrictions,
    skills: SessionSkills | None = None,
    *,
    writable: bool = True,
    outside: Fence | None = None,
) -> Tree:
    """The workspace with skills in it, without what decides what the home runs and what belongs to others.
    With `outside`, the rest of the disk as well, apart from that."""
    read_only = [*programs(settings), *restrictions.read_only_folders()]
    fence = Fence(_closed_paths(home, settings, restrictions), read_only)
    roots = skills.roots if skills else {}
    return Tree({"": Root(settings.workspace, writable=writable), **roots}, fence=fence, outside=outside)


class _StoredTurn(NamedTuple):
    """What the store has of a turn: its session, the one that a person talks to, the parked call that it
    begins with, what is known of the agent's auth profiles, and the time."""

    entry: SessionEntry | None
    origin: SessionKey
    decided: NewCall | None
    book: ProfileBook
    now: int


def _stored_turn(tx: Tx, run: Run) -> _StoredTurn:
    key = SessionKey.parse(run.session_key)
    entry = find_session(tx, run.session_key)
    origin = origin_of(tx, entry) if entry else key
    return _StoredTurn(entry, origin, decided_call(tx, run), read_book(tx, agent_id=key.agent_id), tx.now)


def _opened(tx: Tx, run: Run) -> SessionEntry:
    """A session that begins with this turn."""
    return open_session(tx, run.session_key, SessionKey.parse(run.session_key).agent_id)


def summary_model(settings: Settings, environ: Mapping[str, str], folder: Path) -> ResolvedModel | None:
    """The model that shortens conversations; None when it is the session's own."""
    name = settings.agents.defaults.compaction.model
    return resolve_model(settings, environ, name, folder=folder) if name else None


def _closed_paths(home: Home, settings: Settings, restrictions: Restrictions) -> list[Path]:
    return [home.root, *protected_paths(home, settings), *restrictions.closed_paths()]


def _new_report(made: TurnPrompt) -> str | None:
    """As JSON, when the prompt is another than the one before. What is wrong with a file is logged then."""
    report = made.report
    if is_same(report, made.entry.system_prompt_report):
        return None
    for each in report["files"]:
        if each["problem"]:
            log.warning("%s", each["problem"])
    return json.dumps(with_schemas(report, made.tools), ensure_ascii=False)


def _writes_reasoning(model: ResolvedModel | None, level: str | None) -> bool:
    """Whether reasoning that a person wants to see has to be asked for in words: the settings say that the
    model has none of its own."""
    return (level or "off") != "off" and model is not None and model.reasoning is False
