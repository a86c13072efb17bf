"""The running gateway, as its routes see it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Request

from colleague.agent.prompt.workspace_files import file_problems
from colleague.clock import CheckedClock, Clock
from colleague.expert_document import ValidationDocument
from colleague.gateway.expert_cache import ExpertCache
from colleague.gateway.limits import Limits
from colleague.gateway.live_settings import LiveSettings, held_text
from colleague.gateway.live_triggers import LiveTriggerRegistry
from colleague.gateway.metrics import Metrics
from colleague.gateway.page.background_work import BackgroundWorks
from colleague.gateway.readiness import Readiness
from colleague.gateway.request_origin import request_origin
from colleague.gateway.signature_checks import SignatureChecks
from colleague.gateway.throttle import Throttle
from colleague.home import Home
from colleague.runtime.background import BackgroundServices
from colleague.runtime.host import Host
from colleague.runtime.local_service import LocalService
from colleague.runtime.run_events import RunWatchers
from colleague.store.approvals import LEARNINGS
from colleague.store.tx import Database
from colleague.triggers.gmail.google_token import GoogleTokens
from colleague.triggers.problems import TriggerProblem, trigger_problems
from colleague.triggers.registry import BoundTrigger


@dataclass(frozen=True)
class Gateway:
    """Everything an answer may need. Belongs to one event loop."""

    home: Home
    environ: Mapping[str, str]
    clock: Clock
    host: Host
    live: LiveSettings
    registry: LiveTriggerRegistry
    services: BackgroundServices
    watchers: RunWatchers
    throttle: Throttle
    readiness: Readiness
    limits: Limits = field(default_factory=Limits)
    metrics: Metrics = field(default_factory=Metrics)
    checks: SignatureChecks = field(default_factory=SignatureChecks)
    google: GoogleTokens = field(default_factory=GoogleTokens)
    works: BackgroundWorks = field(default_factory=BackgroundWorks)
    expert_health: ExpertCache[ValidationDocument] = field(default_factory=ExpertCache)
    expert_documents: ExpertCache[dict[str, Any]] = field(default_factory=ExpertCache)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def database(self) -> Database:
        return self.host.database

    @property
    def service(self) -> LocalService:
        """What people and programs have done through HTTP."""
        return LocalService(
            self.home,
            self.live.settings,
            self.database,
            self.registry,
            "api",
            watchers=self.watchers,
            environ=self.environ,
            unenforced=self.live.unenforced,
            enforced=True,
            hooks=self.host.hooks,
            main_agent=self.host.main_agent,
            serving=self.host,
            origin=request_origin(),
        )

    async def check_expert(self, name: str) -> ValidationDocument:
        """What is wrong with an expert as its files are now. Raises ColleagueError."""
        find = partial(self.service.check_expert, name)
        return await self.expert_health.get(self.home, name, self.live.settings, find)

    async def check_expert_soon(self, name: str) -> ValidationDocument | None:
        """As `check_expert`; None while it is still being looked at."""
        find = partial(self.service.check_expert, name)
        return await self.expert_health.get_soon(self.home, name, self.live.settings, find)

    async def expert_document(self, name: str) -> dict[str, Any]:
        """All about an expert as its files are now. Raises ColleagueError."""
        find = partial(self.service.expert, name)
        return await self.expert_documents.get(self.home, name, self.live.settings, find)

    def trigger_problems(self, bound_trigger: BoundTrigger) -> list[TriggerProblem]:
        sender = self.host.sender
        channels = {*sender.channels} - {LEARNINGS} if sender else set()
        return trigger_problems(bound_trigger, self.live.settings, self.environ, channels)

    @property
    def broken_triggers(self) -> list[str]:
        """The triggers that are on and cannot work, in sentences."""
        on = [each for each in self.registry.all() if each.expert.record.enabled]
        return [
            f"trigger {'/'.join(each.key)} cannot work: {problem.message} ({problem.cure})"
            for each in on
            for problem in self.trigger_problems(each)
        ]

    @property
    def problems(self) -> list[str]:
        """What a person should look at, in sentences."""
        found = [f"{name}: {why}" for name, why in sorted(self.registry.problems.items())]
        found += [self.live.problem] if self.live.problem else []
        doubt = self.clock.doubt() if isinstance(self.clock, CheckedClock) else ""
        found += [each for each in (self.services.worker.health.trouble, doubt) if each]
        found += [held_text(name) for name in sorted(self.live.held)]
        background = self.services.background
        found += [
            f"the {name} failed and was started again ({count} times)"
            for name, count in background.restarts.items()
        ]
        found += self.broken_triggers
        found += file_problems(self.live.settings)
        return found + [f"the {name} does not work; the log says why" for name in background.failing]


async def _gateway_of(request: Request) -> Gateway:
    """Async, or every request would take a way through a thread."""
    found: Gateway = request.app.state.gateway
    return found


GatewayDep = Annotated[Gateway, Depends(_gateway_of)]
