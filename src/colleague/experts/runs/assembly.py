"""Builds the RunSpec of an expert's run from its pinned package, its bindings and its home."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from colleague.agent.context.budget import result_chars
from colleague.agent.context.rules import ContextRules
from colleague.agent.context.state import EarlierMessages
from colleague.agent.history import SessionHistory
from colleague.agent.main_agent import FILES_OWNER, summary_model
from colleague.agent.models.context_size import context_window
from colleague.agent.models.resolve import ProfileChoice, Routes, resolve_routes
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.thinking import Thinking
from colleague.agent.policy.home_rules import HomeToolRules
from colleague.agent.prompt.assemble import prompt_tail
from colleague.agent.prompt.runtime_info import RuntimeInfo
from colleague.agent.run_spec import CannotAssemble, Retries, RunSpec
from colleague.agent.tool import Tool
from colleague.agent.toolbox import Toolbox
from colleague.agent.tools.fence import Fence
from colleague.agent.tools.file_tools import file_tools
from colleague.agent.tools.path import PathError
from colleague.agent.tools.reconcile import reconcile
from colleague.agent.tools.tree import Root, Tree
from colleague.agent.turn_inputs import TurnInputs
from colleague.agent.turn_opening import TurnOpening
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.experts.accepted import run_package
from colleague.experts.bindings import Bindings
from colleague.experts.bound_skills import BoundSkills, bound_skills
from colleague.experts.delivery.main_arrival import MainArrival
from colleague.experts.delivery.text import delivery_of
from colleague.experts.expert import Expert, find_expert, linked_folders, require_usable_name
from colleague.experts.privacy.redactor import PrivateText, private_text_of
from colleague.experts.rehearsal.walkthrough import walkthrough_model
from colleague.experts.runs.bound_tools import BoundTools
from colleague.experts.runs.completion import OutputCompletion
from colleague.experts.runs.expert_sessions import remembers
from colleague.experts.runs.inputs import REHEARSAL
from colleague.experts.runs.opening import FunctionOpening, ProcessOpening, TaskOpening
from colleague.experts.runs.pinned import PinnedFunction, PinnedWork
from colleague.experts.runs.policy_gate import PolicyGate
from colleague.experts.runs.preflight import valid_bindings
from colleague.experts.runs.prompt import (
    PromptSource,
    assemble_function_prompt,
    assemble_prompt,
)
from colleague.experts.runs.required_tools import ToolUnavailable, needed_tools
from colleague.experts.runs.run_end import ExpertRunEndHooks
from colleague.experts.runs.run_package import RunPackages
from colleague.experts.runs.tools.begin_process import BeginProcessTool, begin_process_spec
from colleague.experts.runs.tools.complete import CompleteTool, complete_spec
from colleague.experts.runs.tools.escalate import EscalateTool
from colleague.experts.runs.tools.function import FunctionTool
from colleague.experts.runs.tools.function_result import FunctionResultTool, function_result_spec
from colleague.experts.runs.tools.mark_step import MarkStepTool
from colleague.experts.runs.tools.propose_learning import ProposeLearningTool, propose_learning_spec
from colleague.experts.runs.tools.read_function import ReadFunctionTool
from colleague.experts.workspace.expert_tree import expert_tree
from colleague.experts.workspace.learnings import function_learnings, package_learnings
from colleague.experts.workspace.workspace import Workspace, initialise_state, session_files
from colleague.file_cache import FileCache
from colleague.home import Home
from colleague.hooks.runner import NO_HOOKS, PluginHooks
from colleague.main_names import MAIN_AGENT, MAIN_CHANNEL
from colleague.mcp.servers import Servers
from colleague.packages.execution import Execution
from colleague.packages.function import Function
from colleague.packages.package import Package
from colleague.packages.process import Process
from colleague.protected import programs, protected_paths
from colleague.skills.lookup import SkillLookup
from colleague.store.auth_profiles import read_book
from colleague.store.claims import attempt_started
from colleague.store.run import Outcome, Run, keep_model
from colleague.store.steps import StepMark, open_steps
from colleague.store.tx import Database
from colleague.store.versions import owners_with_pending

log = logging.getLogger(__name__)

OUTCOMES: dict[str, Outcome] = {"escalate": "failed", "abandon": "abandoned", "dead_letter": "dead_letter"}


@dataclass(frozen=True)
class ExpertRuns:
    """Assembles the runs of all experts in a home."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    database: Database
    servers: Servers
    run_packages: RunPackages
    bindings: FileCache[Bindings] = field(default_factory=lambda: FileCache(valid_bindings))
    history: SessionHistory | None = None
    plugin_skills: Sequence[Path] = ()
    """Folders with skills of plugins."""
    hooks: PluginHooks = NO_HOOKS

    async def assemble(self, run: Run) -> RunSpec:
        require_usable_name(run.expert)
        builder = RunSpecBuilder.of(self, run, self.run_packages.package(run.expert, run.digest))
        try:
            expert = find_expert(self.home, run.expert)
            package = await asyncio.to_thread(run_package, expert, builder.package, run.created_at)
            builder = RunSpecBuilder.of(self, run, package)
            return await builder.run_spec(expert)
        except ToolUnavailable as error:
            raise builder.cannot(error, retry=error.passing) from None
        except ColleagueError as error:
            raise builder.cannot(error) from None

    async def mend_files(self) -> None:
        """Ends what a crash left between a file's recorded version and the file itself."""
        for owner in await self.database.read(owners_with_pending):
            workspace = Workspace.of(self.settings.workspace, owner)
            if owner == FILES_OWNER or not workspace.root.is_dir():
                continue
            tree = Tree({name: Root(workspace.root / name, writable=True) for name in ("state", "scratch")})
            for left in await reconcile(tree, self.database, owner=owner, locks=state_locks(self.home)):
                log.info("mended %s of %s: %s", left.path, owner, left.problem or f"version {left.version}")

    def workspace(self, run: Run) -> Workspace:
        """A dry run has a copy of its own."""
        real = Workspace.of(self.settings.workspace, run.expert)
        return Workspace(self.home.state / "dry-runs" / run.id) if run.dry_run else real


@dataclass(frozen=True)
class RunSpecBuilder:
    """Builds the RunSpec of one run of one expert."""

    agent: ExpertRuns
    run: Run
    package: Package
    process: Process | None

    @classmethod
    def of(cls, agent: ExpertRuns, run: Run, package: Package) -> RunSpecBuilder:
        return cls(agent, run, package, package.process(run.process) if run.process else None)

    async def run_spec(self, expert: Expert) -> RunSpec:
        bindings = self.agent.bindings(expert.bindings_file)
        model_name = self.run.model or bindings.model
        rehearsal = model_name == REHEARSAL
        if rehearsal and not self.run.model:
            await self.agent.database.write(lambda tx: keep_model(tx, self.run.id, REHEARSAL))
        lasting = self.run.transcript if remembers(bindings, self.run) else None
        skills = SkillLookup.of(self.agent.settings, self.agent.environ, self.agent.plugin_skills)
        skilled = await asyncio.to_thread(bound_skills, bindings, skills)
        workspace, tree = await asyncio.to_thread(self._workspace, lasting or self.run.id, skilled)
        files = self._file_tools(tree, workspace)
        bound_tools = BoundTools(
            self.agent.settings, self.agent.servers, rehearsal, bool(self.run.dry_run), skills, files
        )
        scope = self.process.tools if self.process else self.package.manifest.requires_tools
        functions = self._functions()
        needed = needed_tools(self.package, self.process)
        bound = await bound_tools.operations(self.run.expert, self.package, bindings, needed)
        routes = Routes((self._rehearsed(),)) if rehearsal else await self._routes(model_name)
        rules = self._home_rules(routes)
        operations, withheld = rules.split(bound)
        base = self._base(routes, bindings, await self._timeout())
        now = await self.agent.database.read(lambda tx: tx.now)
        gate = self._gate(expert, rules)
        base = replace(base, gate=gate, toolbox=Toolbox([], withheld))
        inside = replace(base, gate=replace(gate, asks_before_delivery=False))

        async def stage(function: Function, inputs: dict[str, Any]) -> RunSpec:
            learned = function_learnings(workspace.learnings, function.name)
            prompt = assemble_function_prompt(self.package, function, learned, skilled)
            made = self._function_spec(inside, function, inputs, operations, rehearsal)
            return replace(made, system=prompt, system_tail=self._tail(made, now))

        native = self._native(functions, stage)
        mine = [each for each in operations if each.spec.name.partition(".")[0] in scope]
        return replace(
            base,
            system=self._prompt(workspace, skilled),
            system_tail=self._tail(base, now),
            toolbox=base.toolbox.with_tools([*files, *mine, *native]),
            opening=self._opening(tree),
            history=self._history(base) if lasting else None,
            keeps=PinnedWork(self.package, self.agent.database),
            compacts=TurnInputs.of(self.run).compact if lasting else None,
        )

    def _history(self, base: RunSpec) -> Callable[[Run], Awaitable[EarlierMessages]] | None:
        chars = result_chars(context_window(base.routes.first), base.context)
        return partial(self.agent.history.before, result_chars=chars) if self.agent.history else None

    async def _timeout(self) -> float | None:
        """Seconds of work; by the clock on the wall, what passed without work counts as well."""
        limit = self._execution.timeout
        if limit is None or self.agent.settings.experts.timeout_clock == "working":
            return limit.seconds if limit else None
        run = self.run
        passed = await self.agent.database.read(lambda tx: tx.now - attempt_started(tx, run.id, run.attempt))
        return limit.seconds - (passed - run.working_ms) / 1000

    def _base(self, routes: Routes, bindings: Bindings, timeout: float | None) -> RunSpec:
        execution, channel = self._execution, self._notice_channel
        tells_of_drafts = self.package.manifest.policy.escalation.on_manual_ready
        return RunSpec(
            owner=self.run.expert,
            routes=routes,
            system="",
            toolbox=Toolbox([]),
            package_digest=self.package.digest,
            thinking=Thinking.of(self.agent.settings),
            max_turns=self.agent.settings.agents.defaults.max_turns,
            timeout_seconds=timeout,
            run_budget=bindings.run_budget,
            day_budget=bindings.day_budget,
            retries=self._retries,
            on_failure=OUTCOMES[execution.on_failure],
            rejection="fail",
            completion=OutputCompletion(self.process.outputs if self.process else (), self._open_steps),
            end_hooks=self._end_hooks,
            private=self._private,
            starts_over=self._starts_over,
            ask_channel=channel,
            draft_channel=channel if tells_of_drafts else None,
            context=ContextRules.of(self.agent.settings),
            summary_model=summary_model(self.agent.settings, self.agent.environ, self.agent.home.root),
        )

    async def _open_steps(self) -> list[StepMark]:
        return await self.agent.database.read(lambda tx: open_steps(tx, self.run.id))

    def _home_rules(self, routes: Routes) -> HomeToolRules:
        return HomeToolRules(self.agent.settings, tuple(dict.fromkeys(each.name for each in routes.models)))

    def _gate(self, expert: Expert, rules: HomeToolRules) -> PolicyGate:
        outside = delivery_of(self.package, self.run).channel != MAIN_CHANNEL
        return PolicyGate(
            self.agent.run_packages.policies(expert, self.package),
            bool(self.run.dry_run),
            strict=self.run.dryness == "strict",
            asks_before_leaving=self._asks_before_leaving,
            asks_before_delivery=self._asks_before_leaving and outside,
            home_rules=rules,
        )

    @cached_property
    def _asks_before_leaving(self) -> bool:
        """Whether a person is asked before any text of this expert, which knows private things, leaves."""
        bindings = self.agent.bindings(find_expert(self.agent.home, self.run.expert).bindings_file)
        chosen = bindings.private_egress or self.agent.settings.experts.private_egress
        return chosen == "ask" and bool(self._private)

    @property
    def _notice_channel(self) -> str:
        """Where people are told of questions and failures."""
        wanted = self.package.manifest.policy.escalation.channel
        return MAIN_CHANNEL if self._asks_before_leaving else wanted

    def cannot(self, error: ColleagueError, *, retry: bool = False) -> CannotAssemble:
        return CannotAssemble(
            error.message,
            hint=error.hint,
            retry=retry,
            retries=self._retries,
            on_failure=OUTCOMES[self._execution.on_failure],
            end_hooks=self._end_hooks,
            starts_over=self._starts_over,
        )

    @property
    def _execution(self) -> Execution:
        return self.process.execution if self.process else self.package.manifest.execution

    @property
    def _starts_over(self) -> bool:
        """Whether the next attempt begins at the first step; a fork never does again what it took over."""
        return self._execution.idempotent and not self.run.took_over

    @property
    def _retries(self) -> Retries:
        retry = self._execution.retry
        return Retries(retry.max_attempts, retry.delay.milliseconds, retry.backoff == "exponential")

    @property
    def _end_hooks(self) -> ExpertRunEndHooks:
        return ExpertRunEndHooks(
            self.package,
            self.agent.workspace(self.run),
            self.agent.database,
            self._owner,
            self._private,
            stays_inside=self._stays_inside,
            arrival=MainArrival(self.agent.settings.experts.main_turn == "relay", self.agent.hooks),
        )

    @property
    def _stays_inside(self) -> bool:
        """In doubt, as when the bindings cannot be read, everything does."""
        try:
            return self._asks_before_leaving
        except ColleagueError:
            return bool(self._private)

    @cached_property
    def _private(self) -> PrivateText:
        return private_text_of(self.agent.home, self.run)

    @property
    def _owner(self) -> str:
        """Whose file versions are made: a dry run keeps its own, which go with it."""
        return f"dry-run/{self.run.id}" if self.run.dry_run else self.run.expert

    async def _routes(self, name: str) -> Routes:
        """A model that a person named for this run alone has no other to fall back to."""
        agent = self.agent
        book = await agent.database.read(lambda tx: read_book(tx, agent_id=MAIN_AGENT))
        return resolve_routes(
            agent.settings,
            agent.environ,
            name,
            choice=ProfileChoice(book=book),
            folder=agent.home.root,
            fallbacks=() if self.run.model else None,
        )

    def _rehearsed(self) -> ResolvedModel:
        return walkthrough_model(self.package, self.process, json.loads(self.run.inputs))

    def _workspace(self, session: str, skilled: BoundSkills) -> tuple[Workspace, Tree]:
        """The one tree the expert sees. Each session has session files of its own."""
        workspace = self.agent.workspace(self.run)
        if self.run.dry_run:
            workspace.copy_from(Workspace.of(self.agent.settings.workspace, self.run.expert))
        initialise_state(self.package, workspace)
        mounts = session_files(self.package, workspace.sessions / session)
        private = [item.path for item in self.package.knowledge if item.private]
        home, settings = self.agent.home, self.agent.settings
        fence = Fence(protected_paths(home, settings), [*programs(settings), *linked_folders(home)])
        tree = expert_tree(
            self.package.root,
            workspace,
            private=private,
            session_files=mounts,
            fence=fence,
            skills=[each.skill for each in skilled.values()],
        )
        return workspace, tree

    def _functions(self) -> list[Function]:
        """Those the process names; all of them for a free task."""
        if self.process is None or not self.process.functions:
            return list(self.package.functions)
        return [each for each in self.package.functions if each.name in self.process.functions]

    def _native(self, functions: list[Function], stage: Any) -> list[Tool]:
        package, database = self.package, self.agent.database
        inline = [each for each in functions if each.session == "inline"]
        outputs = self.process.outputs if self.process else ()
        tools: list[Tool] = [FunctionTool(each, stage) for each in functions if each.session == "isolated"]
        if inline:
            tools.append(FunctionResultTool(inline, function_result_spec(inline)))
        if self.process is None and package.processes:
            tools.append(BeginProcessTool(database, package, begin_process_spec(package)))
        if package.processes:
            tools += [MarkStepTool(database), CompleteTool(complete_spec(outputs))]
        return [*tools, self._escalate, *self._learning()]

    @property
    def _escalate(self) -> EscalateTool:
        return EscalateTool(self.package.manifest.policy.escalation.on_low_confidence)

    def _learning(self) -> list[Tool]:
        manifest = self.package.manifest
        if not manifest.learning.enabled:
            return []
        spec = propose_learning_spec([function.name for function in self.package.functions])
        return [ProposeLearningTool(self.agent.database, manifest.learning, self._notice_channel, spec)]

    def _file_tools(self, tree: Tree, workspace: Workspace) -> list[Tool]:
        locks = state_locks(self.agent.home)
        tools = file_tools(tree, self.agent.database, owner=self._owner, run_id=self.run.id, locks=locks)
        return [
            ReadFunctionTool(tool, self.package, workspace.learnings) if tool.spec.name == "read" else tool
            for tool in tools
        ]

    def _tail(self, spec: RunSpec, now: int) -> str:
        """Time and surroundings, behind all that stays the same."""
        runtime = RuntimeInfo(self.run.expert, spec.routes.first.name, spec.thinking.level)
        return prompt_tail(self.agent.settings, now, runtime)

    def _prompt(self, workspace: Workspace, skills: BoundSkills) -> str:
        return assemble_prompt(PromptSource(self.package, package_learnings(workspace.learnings), skills))

    def _opening(self, tree: Tree) -> ProcessOpening | TaskOpening | TurnOpening:
        if self.process is None:
            return TurnOpening(self.agent.database) if self.run.transcript else TaskOpening()

        async def read_file(path: str) -> str | None:
            try:
                content = await asyncio.to_thread(tree.read, path.removeprefix("./"))
            except PathError:
                return None
            return content.data.decode("utf-8", "replace")

        return ProcessOpening(self.package, self.process, "event", read_file, self.agent.database)

    def _function_spec(
        self,
        base: RunSpec,
        function: Function,
        inputs: dict[str, Any],
        operations: list[Tool],
        rehearsal: bool,
    ) -> RunSpec:
        """A child session: only what the function names, and nothing of the conversation around it."""
        tools = [each for each in operations if each.spec.name.partition(".")[0] in function.tools]
        complete: Tool = CompleteTool(complete_spec(function.outputs))
        routes = base.routes
        if rehearsal:
            routes = Routes((walkthrough_model(self.package, None, inputs, function=function),))
        return replace(
            base,
            routes=routes,
            toolbox=base.toolbox.with_tools([*tools, complete, self._escalate]),
            opening=FunctionOpening(function, inputs),
            keeps=PinnedFunction(function, inputs),
            completion=OutputCompletion(function.outputs),
        )


def state_locks(home: Home) -> Path:
    """Where the locks of written files are; all processes of the home share them."""
    return home.state / "file-locks"
